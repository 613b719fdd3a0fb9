# SPDX-License-Identifier: Apache-2.0
# Values, spans and steps have the same bits on Windows, compiled by mingw-w64 and run by wine.
cmake_minimum_required(VERSION 3.25)

find_program(compiler NAMES x86_64-w64-mingw32-g++-posix x86_64-w64-mingw32-g++)
find_program(wine NAMES wine64 wine PATHS /usr/lib/wine)
if(NOT compiler OR NOT wine)
  message("SKIPPED: no g++ of mingw-w64 with wine64")
  return()
endif()

file(MAKE_DIRECTORY ${SCRATCH})
set(tests ${ROOT}/tests)
string(REPLACE " " ";" warnings "${WARNINGS}")
execute_process(
  COMMAND ${compiler} -std=c++20 -O1 -static ${warnings} -DLOWP_TEST_SOME -DUNIT=o2 -I${ROOT}/include
          -I${tests} ${tests}/project/flags/unit.cpp ${tests}/project/sapphire/conformance.cpp
          -o ${SCRATCH}/program.exe
  COMMAND_ERROR_IS_FATAL ANY)
set(ENV{WINEPREFIX} ${SCRATCH}/wine)
set(ENV{WINEDEBUG} -all)
set(ran "")
foreach(backend portable avx2)
  set(ENV{LOWP_ISA} ${backend})
  execute_process(COMMAND ${wine} ${SCRATCH}/program.exe states RESULT_VARIABLE status
                  OUTPUT_VARIABLE said ERROR_VARIABLE error)
  if(error MATCHES "is not a backend here")
    continue()
  endif()
  string(REPLACE "\r" "" said "${said}")
  if(NOT status EQUAL 0 OR NOT said MATCHES "^isa ${backend}\n.*states that matter 0\n$")
    message(SEND_ERROR "${backend}: ${status}\n${said}${error}")
  endif()
  list(APPEND ran ${backend})
endforeach()
message("the same bits: ${ran}")
if(NOT ran)
  message(SEND_ERROR "nothing ran")
endif()
