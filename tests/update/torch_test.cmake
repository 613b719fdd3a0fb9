# SPDX-License-Identifier: Apache-2.0
# Steps beside the real torch.optim. LOWP_PYTHON in the environment names an interpreter that has
# torch; without it, python3.
cmake_minimum_required(VERSION 3.25)

if(DEFINED ENV{LOWP_PYTHON})
  set(python $ENV{LOWP_PYTHON})
else()
  find_program(python python3)
endif()
if(NOT python)
  message("SKIPPED: python3 is not installed")
  return()
endif()
execute_process(COMMAND ${python} -c "import torch" RESULT_VARIABLE status ERROR_VARIABLE error)
if(NOT status EQUAL 0)
  message("SKIPPED: ${python} has no torch (set LOWP_PYTHON to one that has): ${error}")
  return()
endif()

string(REPLACE " " ";" warnings "${WARNINGS}")
file(MAKE_DIRECTORY ${SCRATCH})
execute_process(
  COMMAND ${CXX} -std=c++20 -O2 -shared -fPIC ${warnings} -I${ROOT}/include
          ${CMAKE_CURRENT_LIST_DIR}/torch_steps.cpp -o ${SCRATCH}/steps.so
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/torch_test.py ${SCRATCH}/steps.so
                COMMAND_ERROR_IS_FATAL ANY)
