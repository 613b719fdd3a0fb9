# SPDX-License-Identifier: Apache-2.0
# Checkpoints of torchao, and its optimizer that offloads.
cmake_minimum_required(VERSION 3.25)
include(${ROOT}/tests/support/python.cmake)
python_with(python torch torchao.optim)
if(NOT python)
  return()
endif()
set(ENV{TORCH_EXTENSIONS_DIR} ${SCRATCH}/extensions)
set(ENV{PYTHONPATH} ${ROOT}/examples/torch)
set(ENV{PYTHONDONTWRITEBYTECODE} 1)
set(ENV{OMP_WAIT_POLICY} passive)  # other tests run beside this one
set(ENV{CXX} "${CXX} -march=native")  # the bits are the same, and it compiles one backend
execute_process(COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/torchao_test.py COMMAND_ERROR_IS_FATAL ANY)
