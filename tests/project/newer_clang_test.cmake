# SPDX-License-Identifier: Apache-2.0
# A later clang reads inline assembly in other ways. A model trains to the results of the compiler
# of all other programs.
cmake_minimum_required(VERSION 3.25)

find_program(clang NAMES clang++-19 clang++-20 clang++-21)
if(NOT clang)
  message("SKIPPED: clang++-19 is not installed")
  return()
endif()
include(${ROOT}/tests/support/run.cmake)
file(MAKE_DIRECTORY ${SCRATCH})
separate_arguments(warnings UNIX_COMMAND "${WARNINGS}")

run(${clang} -std=c++20 -O1 ${warnings} -I${ROOT}/include ${ROOT}/examples/whole_model.cpp -o ${SCRATCH}/model)
file(GLOB model ${BUILD}/examples/*whole_model)
foreach(program IN ITEMS ${model} ${SCRATCH}/model)
  execute_process(COMMAND ${program} WORKING_DIRECTORY ${SCRATCH} OUTPUT_VARIABLE result COMMAND_ERROR_IS_FATAL ANY)
  if(NOT result MATCHES "resumed to the bit: yes" OR (DEFINED expected AND NOT result STREQUAL expected))
    message(FATAL_ERROR "${program} prints\n${result}not\n${expected}")
  endif()
  set(expected "${result}")
endforeach()
