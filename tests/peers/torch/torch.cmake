# SPDX-License-Identifier: Apache-2.0
# run_beside_torch(SOURCE SCRIPT): builds SOURCE into a library and runs SCRIPT with its path, under an
# interpreter that has torch.
include(${ROOT}/tests/support/python.cmake)
function(run_beside_torch source script)
  python_with(python torch)
  if(NOT python)
    return()
  endif()

  string(REPLACE " " ";" warnings "${WARNINGS}")
  file(MAKE_DIRECTORY ${SCRATCH})
  execute_process(
    COMMAND ${CXX} -std=c++20 -O2 -shared -fPIC ${warnings} -I${ROOT}/include -I${ROOT}/tests ${source}
            -o ${SCRATCH}/library.so
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${python} ${script} ${SCRATCH}/library.so COMMAND_ERROR_IS_FATAL ANY)
endfunction()
