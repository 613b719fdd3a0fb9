# SPDX-License-Identifier: Apache-2.0
# In C++17 every header says first what to do, and then nothing else.
cmake_minimum_required(VERSION 3.25)

set(ENV{LC_ALL} C)
file(GLOB_RECURSE headers ${ROOT}/include/lowp/*.hpp ${ROOT}/include/lowp/*.cuh)
if(NOT headers)
  message(FATAL_ERROR "there are no headers in ${ROOT}/include/lowp")
endif()
foreach(header IN LISTS headers)
  execute_process(
    COMMAND ${CXX} -std=c++17 -fsyntax-only -fdiagnostics-color=never -I${ROOT}/include -x c++
            ${header}
    RESULT_VARIABLE status ERROR_VARIABLE diagnostics)
  # The error and that a file is missing, which ends the compilation.
  string(REGEX MATCHALL "error:[^\n]*" errors "${diagnostics}")
  list(LENGTH errors count)
  if(status EQUAL 0 OR count GREATER 2 OR NOT errors MATCHES "^error: [^;]*lowp needs C..20: ")
    message(SEND_ERROR "${header} in C++17:\n${diagnostics}")
  endif()
endforeach()
