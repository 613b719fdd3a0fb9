# SPDX-License-Identifier: Apache-2.0
# signatures.cpp compiles, and has every name that the tables of include/lowp/README.md show a user
# of lowp/lowp.hpp.
cmake_minimum_required(VERSION 3.25)

string(REPLACE " " ";" warnings "${WARNINGS}")
set(source ${CMAKE_CURRENT_LIST_DIR}/signatures.cpp)
execute_process(COMMAND ${CXX} -std=c++20 ${warnings} -fsyntax-only -I${ROOT}/include ${source}
                COMMAND_ERROR_IS_FATAL ANY)

file(READ ${source} frozen)
file(READ ${ROOT}/include/lowp/README.md page)
string(FIND "${page}" "\n## What is in it\n" begin)
string(FIND "${page}" "\n### Headers to include by name\n" end)
math(EXPR length "${end} - ${begin}")
string(SUBSTRING "${page}" ${begin} ${length} page)
string(REGEX REPLACE "[][;]" "" page "${page}")
string(REGEX MATCHALL "\n[|] `[^|]*" cells "${page}")
string(REGEX MATCHALL "`[a-z0-9_]+" names "${cells}")
list(TRANSFORM names REPLACE "`" "")
list(LENGTH names count)
if(count LESS 50)
  message(FATAL_ERROR "the tables of the page have only ${count} names: ${names}")
endif()
foreach(name IN LISTS names)
  if(NOT frozen MATCHES "[^a-z0-9_]${name}[^a-z0-9_]")
    message(SEND_ERROR "signatures.cpp lacks ${name}")
  endif()
endforeach()
