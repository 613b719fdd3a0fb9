# SPDX-License-Identifier: Apache-2.0
# PyTorch and ml_dtypes get their right names from lowp-judge, by the lines of its page.
cmake_minimum_required(VERSION 3.25)

include(${ROOT}/tests/support/python.cmake)
python_with(python torch ml_dtypes numpy)
if(NOT python)
  return()
endif()
set(program ${BUILD}/examples/lowp-judge)
if(NOT EXISTS ${program})
  message("SKIPPED: the examples are not built")
  return()
endif()
file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH})
execute_process(COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/name_test.py ${program} ${ROOT}
                WORKING_DIRECTORY ${SCRATCH} COMMAND_ERROR_IS_FATAL ANY)
