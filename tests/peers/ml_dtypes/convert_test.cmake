# SPDX-License-Identifier: Apache-2.0
# Conversions beside the package ml_dtypes of PyPI.
cmake_minimum_required(VERSION 3.25)

include(${ROOT}/tests/support/python.cmake)
python_with(python ml_dtypes numpy)
if(NOT python)
  return()
endif()

string(REPLACE " " ";" warnings "${WARNINGS}")
file(MAKE_DIRECTORY ${SCRATCH})
execute_process(
  COMMAND ${CXX} -std=c++20 -O1 -shared -fPIC ${warnings} -I${ROOT}/include -I${ROOT}/tests
          ${CMAKE_CURRENT_LIST_DIR}/convert.cpp -o ${SCRATCH}/library.so
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/convert_test.py ${SCRATCH}/library.so
                COMMAND_ERROR_IS_FATAL ANY)
