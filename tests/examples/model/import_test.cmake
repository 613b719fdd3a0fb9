# SPDX-License-Identifier: Apache-2.0
# Small files of the kinds that examples/model/import.py reads: see import_test.py.
cmake_minimum_required(VERSION 3.25)

include(${ROOT}/tests/support/python.cmake)
python_with(python json)
if(NOT python)
  return()
endif()
file(MAKE_DIRECTORY ${SCRATCH})
execute_process(COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/import_test.py ${ROOT}/examples/model/import.py
                        ${SCRATCH} COMMAND_ERROR_IS_FATAL ANY)
