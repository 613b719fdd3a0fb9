# SPDX-License-Identifier: Apache-2.0
# Checkpoints of torchao, and its optimizer that offloads.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/torch.cmake)
python_with(python torch torchao.optim)
if(NOT python)
  return()
endif()
use_lowp_torch()
execute_process(COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/torchao_test.py COMMAND_ERROR_IS_FATAL ANY)
