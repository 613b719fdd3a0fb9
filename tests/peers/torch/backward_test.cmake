# SPDX-License-Identifier: Apache-2.0
# Derivatives beside the real PyTorch's.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/torch.cmake)
run_beside_torch(${CMAKE_CURRENT_LIST_DIR}/backward.cpp
                 ${CMAKE_CURRENT_LIST_DIR}/backward_test.py)
