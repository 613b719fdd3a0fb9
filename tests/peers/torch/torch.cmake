# SPDX-License-Identifier: Apache-2.0
# For tests under an interpreter that has torch:
#   run_beside_torch(SOURCE SCRIPT)  builds SOURCE into a library and runs SCRIPT with its path
#   run_with_libtorch(SOURCE)        builds SOURCE into a GoogleTest program and runs it
#   use_lowp_torch()                 lets Python find lowp_torch, which compiles in SCRATCH
include(${ROOT}/tests/support/python.cmake)
function(use_lowp_torch)
  set(ENV{TORCH_EXTENSIONS_DIR} ${SCRATCH}/extensions)
  set(ENV{PYTHONPATH} ${ROOT}/examples/torch)
  set(ENV{PYTHONDONTWRITEBYTECODE} 1)
  set(ENV{OMP_WAIT_POLICY} passive)  # other tests run beside this one
  set(ENV{CXX} "${CXX} -march=native")  # the bits are the same, and it compiles one backend
endfunction()

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

function(run_with_libtorch source)
  python_with(python torch)
  if(NOT python)
    return()
  endif()
  execute_process(COMMAND ${python} -c "import os, torch; print(os.path.dirname(torch.__file__), end='')"
                  OUTPUT_VARIABLE torch COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE " " ";" warnings "${WARNINGS}")
  file(MAKE_DIRECTORY ${SCRATCH})
  execute_process(
    COMMAND ${CXX} -std=c++20 -O1 ${warnings} -I${ROOT}/include -isystem ${torch}/include ${source} -o
            ${SCRATCH}/program -L${torch}/lib -Wl,-rpath,${torch}/lib -ltorch_cpu -lc10 -lgtest -lpthread
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${SCRATCH}/program --gtest_brief=1 COMMAND_ERROR_IS_FATAL ANY)
endfunction()
