# SPDX-License-Identifier: Apache-2.0
# The optimizer of examples/torch, as a user of PyTorch calls it.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/torch.cmake)
set(ENV{TORCH_EXTENSIONS_DIR} ${SCRATCH}/extensions)
set(ENV{PYTHONPATH} ${ROOT}/examples/torch)
set(ENV{PYTHONDONTWRITEBYTECODE} 1)
set(ENV{OMP_WAIT_POLICY} passive)  # other tests run beside this one
set(ENV{CXX} ${CXX})
run_beside_torch(${CMAKE_CURRENT_LIST_DIR}/optimizer.cpp
                 ${CMAKE_CURRENT_LIST_DIR}/optimizer_test.py)
