# SPDX-License-Identifier: Apache-2.0
# Steps beside the real torch.optim.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/torch.cmake)
run_beside_torch(${CMAKE_CURRENT_LIST_DIR}/steps.cpp ${CMAKE_CURRENT_LIST_DIR}/steps_test.py)
