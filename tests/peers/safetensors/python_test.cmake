# SPDX-License-Identifier: Apache-2.0
# Files to and from the package `safetensors` of PyPI.
cmake_minimum_required(VERSION 3.25)

include(${ROOT}/tests/support/python.cmake)
python_with(python ml_dtypes numpy safetensors)
if(NOT python)
  return()
endif()

string(REPLACE " " ";" warnings "${WARNINGS}")
file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH})
set(source ${CMAKE_CURRENT_LIST_DIR}/python_files.cpp)
file(WRITE ${SCRATCH}/has_json.cpp "#include <nlohmann/json.hpp>\n")
execute_process(COMMAND ${CXX} -std=c++20 -E ${SCRATCH}/has_json.cpp RESULT_VARIABLE status
                OUTPUT_QUIET ERROR_QUIET)
if(NOT status EQUAL 0)
  message("SKIPPED: nlohmann/json.hpp is not installed")
  return()
endif()
execute_process(COMMAND ${CXX} -std=c++20 -O1 ${warnings} -I${ROOT}/include ${source} -o
                        ${SCRATCH}/files
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/python_test.py ${SCRATCH}/files
                        ${SCRATCH}
                COMMAND_ERROR_IS_FATAL ANY)
