# SPDX-License-Identifier: Apache-2.0
# The one thing that GNU's dialect adds: integers of 128 bits.
cmake_minimum_required(VERSION 3.25)

separate_arguments(warnings UNIX_COMMAND "${WARNINGS}")
list(REMOVE_ITEM warnings -Wpedantic)  # has no __int128
file(MAKE_DIRECTORY ${SCRATCH})
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${out}")
  endif()
endfunction()
run(${CXX} -std=gnu++20 -O1 ${warnings} -I${ROOT}/include -I${ROOT}/tests
    ${CMAKE_CURRENT_LIST_DIR}/int128.cpp -o ${SCRATCH}/int128 -lgtest -pthread)
run(${SCRATCH}/int128)
