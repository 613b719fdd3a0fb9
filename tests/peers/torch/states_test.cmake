# SPDX-License-Identifier: Apache-2.0
# 8-bit states beside those of bitsandbytes.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/torch.cmake)
python_with(python torch bitsandbytes)
if(python)
  run_beside_torch(${CMAKE_CURRENT_LIST_DIR}/states.cpp ${CMAKE_CURRENT_LIST_DIR}/states_test.py)
endif()
