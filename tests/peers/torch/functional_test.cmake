# SPDX-License-Identifier: Apache-2.0
# lowp_torch.functional and its averages beside PyTorch's own functions.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/torch.cmake)
python_with(python torch)
if(NOT python)
  return()
endif()
use_lowp_torch()
execute_process(COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/functional_test.py COMMAND_ERROR_IS_FATAL ANY)
