# SPDX-License-Identifier: Apache-2.0
# The types that GNU's dialect adds: integers and floating-point numbers of 128 bits.
cmake_minimum_required(VERSION 3.25)

separate_arguments(warnings UNIX_COMMAND "${WARNINGS}")
list(REMOVE_ITEM warnings -Wpedantic)  # has neither
file(MAKE_DIRECTORY ${SCRATCH})
include(${ROOT}/tests/support/run.cmake)
run(${CXX} -std=gnu++20 -O1 ${warnings} -I${ROOT}/include -I${ROOT}/tests
    ${CMAKE_CURRENT_LIST_DIR}/int128.cpp -o ${SCRATCH}/int128 -lgtest -pthread)
run(${SCRATCH}/int128)
