# SPDX-License-Identifier: Apache-2.0
# run_beside_torch(SOURCE SCRIPT): builds SOURCE into a library and runs SCRIPT with its path, under the
# interpreter that LOWP_PYTHON in the environment names, which has torch; without it, python3.
function(run_beside_torch source script)
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
    COMMAND ${CXX} -std=c++20 -O2 -shared -fPIC ${warnings} -I${ROOT}/include ${source}
            -o ${SCRATCH}/library.so
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${python} ${script} ${SCRATCH}/library.so COMMAND_ERROR_IS_FATAL ANY)
endfunction()
