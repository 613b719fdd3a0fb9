# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
file(MAKE_DIRECTORY ${SCRATCH})
separate_arguments(warnings UNIX_COMMAND "${WARNINGS}")
find_program(clang NAMES clang++-19 clang++-20 clang++-21)
if(NOT clang)
  message("SKIPPED: clang++-19 is not installed")
  return()
endif()
file(WRITE ${SCRATCH}/probe.cpp "#include <mdspan>\n")
execute_process(COMMAND ${clang} -std=c++23 -stdlib=libc++ -fsyntax-only ${SCRATCH}/probe.cpp
                RESULT_VARIABLE status ERROR_QUIET)
if(NOT status EQUAL 0)
  message("SKIPPED: libc++-19-dev is not installed")
  return()
endif()
execute_process(
  COMMAND ${clang} -std=c++23 -stdlib=libc++ -O1 ${warnings} -I${ROOT}/include
          ${ROOT}/tests/peers/ordinary/cxx23.cpp -o ${SCRATCH}/cxx23
  RESULT_VARIABLE status ERROR_VARIABLE text)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${text}")
endif()
execute_process(COMMAND ${SCRATCH}/cxx23 RESULT_VARIABLE status OUTPUT_VARIABLE text)
if(NOT status EQUAL 0)
  message(SEND_ERROR "${text}")
endif()
