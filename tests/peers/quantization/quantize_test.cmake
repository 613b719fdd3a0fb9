# SPDX-License-Identifier: Apache-2.0
# Recipes of quantization beside the packages that they are named after.
cmake_minimum_required(VERSION 3.25)
include(${ROOT}/tests/support/python.cmake)
python_with(python torch numpy)
if(NOT python)
  return()
endif()
string(REPLACE " " ";" warnings "${WARNINGS}")
file(MAKE_DIRECTORY ${SCRATCH})
execute_process(
  COMMAND ${CXX} -std=c++20 -O2 -shared -fPIC ${warnings} -I${ROOT}/include
          ${CMAKE_CURRENT_LIST_DIR}/quantize.cpp -o ${SCRATCH}/library.so
  COMMAND_ERROR_IS_FATAL ANY)
foreach(script compare hadamard tiles)
  execute_process(COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/${script}.py ${SCRATCH}/library.so
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()
