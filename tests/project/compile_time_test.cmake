# SPDX-License-Identifier: Apache-2.0
# A unit that uses the library compiles within its budget of memory: see bench/report/compile_time.py.
cmake_minimum_required(VERSION 3.25)

include(${ROOT}/tests/support/python.cmake)
execute_process(COMMAND ${CXX} -dumpversion OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT CXX_ID STREQUAL GNU OR NOT version MATCHES "^12")
  message("SKIPPED: the budgets are those of g++ 12, this is ${CXX_ID} ${version}")
  return()
endif()
python_with(python argparse)
if(python)
  set(ENV{CXX} ${CXX})
  execute_process(COMMAND ${python} ${ROOT}/bench/report/compile_time.py --check COMMAND_ERROR_IS_FATAL ANY)
endif()
