# SPDX-License-Identifier: Apache-2.0
# compare_conversions(SCRIPT MODULE...): builds convert.cpp and runs SCRIPT with the library's path, under
# an interpreter that has these modules.
include(${ROOT}/tests/support/python.cmake)
function(compare_conversions script)
  python_with(python ${ARGN})
  if(NOT python)
    return()
  endif()
  string(REPLACE " " ";" warnings "${WARNINGS}")
  file(MAKE_DIRECTORY ${SCRATCH})
  execute_process(
    COMMAND ${CXX} -std=c++20 -O1 -shared -fPIC ${warnings} -I${ROOT}/include -I${ROOT}/tests
            ${ROOT}/tests/peers/presets/convert.cpp -o ${SCRATCH}/library.so
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${ROOT}/tests/peers/presets ${python} -B
                          ${script} ${SCRATCH}/library.so
                  COMMAND_ERROR_IS_FATAL ANY)
endfunction()
