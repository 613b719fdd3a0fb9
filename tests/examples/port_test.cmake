# SPDX-License-Identifier: Apache-2.0
# A network of float becomes one of bfloat16 by the line that examples/README.md shows. Then it learns
# as well as before, under g++ and clang.
cmake_minimum_required(VERSION 3.25)
include(${ROOT}/tests/support/run.cmake)
file(MAKE_DIRECTORY ${SCRATCH})

file(READ ${CMAKE_CURRENT_LIST_DIR}/port/network.cpp text)
file(READ ${ROOT}/examples/README.md page)
if(NOT page MATCHES "\n(typedef [^\n]* real;)  // (typedef float real;)\n")
  message(FATAL_ERROR "examples/README.md does not show the line that changes")
endif()
string(REPLACE "\n${CMAKE_MATCH_2}\n" "\n${CMAKE_MATCH_1}\n" ported "${text}")
if(ported STREQUAL text)
  message(FATAL_ERROR "network.cpp lacks the line `${CMAKE_MATCH_2}`")
endif()
file(WRITE ${SCRATCH}/float.cpp "${text}")
file(WRITE ${SCRATCH}/ported.cpp "${ported}")

set(compilers ${CXX})
find_program(clang clang++)
if(clang)
  list(APPEND compilers ${clang})
endif()
foreach(compiler IN LISTS compilers)
  run(${compiler} -std=c++20 -O2 ${SCRATCH}/float.cpp -o ${SCRATCH}/network)
  run(${SCRATCH}/network)
  run(${compiler} -std=c++20 -O2 -Wall -Wextra -I${ROOT}/include -include lowp/value.hpp ${SCRATCH}/ported.cpp
      -o ${SCRATCH}/network)
  run(${SCRATCH}/network)
  if(NOT printed MATCHES "^bytes 2 ")
    message(FATAL_ERROR "the network still computes with another type:\n${printed}")
  endif()
endforeach()
