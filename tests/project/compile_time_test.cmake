# SPDX-License-Identifier: Apache-2.0
# A unit that uses the library compiles within its budget: see bench/report/compile_time.py.
cmake_minimum_required(VERSION 3.25)

include(${ROOT}/tests/support/python.cmake)
if(NOT CXX_ID STREQUAL GNU)
  message("SKIPPED: the budgets are g++'s")
  return()
endif()
python_with(python argparse)
if(python)
  set(ENV{CXX} ${CXX})
  execute_process(COMMAND ${python} ${ROOT}/bench/report/compile_time.py --check COMMAND_ERROR_IS_FATAL ANY)
endif()
