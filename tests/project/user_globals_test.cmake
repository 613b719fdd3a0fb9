# SPDX-License-Identifier: Apache-2.0
# The globals and macros of user_globals.cpp give no warning in the headers, whichever compiler reads
# them.
cmake_minimum_required(VERSION 3.25)

string(REPLACE " " ";" warnings "${WARNINGS}")
find_program(clang clang++)
foreach(compiler ${CXX} ${clang})
  if(compiler)
    execute_process(COMMAND ${compiler} -std=c++20 ${warnings} -fsyntax-only -I${ROOT}/include
                            ${CMAKE_CURRENT_LIST_DIR}/user_globals.cpp
                    COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()
# Sizes of 32 bits are converted without a warning, too.
find_program(i686 i686-linux-gnu-g++)
if(i686)
  execute_process(COMMAND ${i686} -std=c++20 -msse2 -mfpmath=sse ${warnings} -Wsign-conversion -fsyntax-only
                          -I${ROOT}/include ${CMAKE_CURRENT_LIST_DIR}/user_globals.cpp
                  COMMAND_ERROR_IS_FATAL ANY)
endif()
