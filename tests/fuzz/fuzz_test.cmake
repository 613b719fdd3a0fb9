# SPDX-License-Identifier: Apache-2.0
# Runs each fuzz target for seconds from its corpus: README.md. It needs a clang++ with libFuzzer.
cmake_minimum_required(VERSION 3.25)

find_program(clang clang++)
if(NOT clang)
  message("SKIPPED: clang++ is not installed")
  return()
endif()
if(NOT DEFINED SECONDS)
  set(SECONDS 5)
endif()
file(MAKE_DIRECTORY ${SCRATCH})
set(sanitizers -std=c++20 -O1 -g1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined)
file(WRITE ${SCRATCH}/empty.cpp
     "extern \"C\" int LLVMFuzzerTestOneInput(unsigned char const*, unsigned long) { return 0; }\n")
# Under a sanitizer a unit has one backend: the last one that this machine has.
foreach(machine -march=native -mcpu=native)
  set(flags ${sanitizers} ${machine})
  execute_process(COMMAND ${clang} ${flags} ${SCRATCH}/empty.cpp -o ${SCRATCH}/empty
                  RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
  if(status EQUAL 0)
    break()
  endif()
endforeach()
if(NOT status EQUAL 0)
  message("SKIPPED: this clang++ has no libFuzzer")
  return()
endif()

foreach(target text files spans)
  execute_process(COMMAND ${clang} ${flags} -I${ROOT}/include ${CMAKE_CURRENT_LIST_DIR}/${target}.cpp
                          -o ${SCRATCH}/${target} COMMAND_ERROR_IS_FATAL ANY)
  # New inputs go to the first folder; the kept corpus is only read.
  file(MAKE_DIRECTORY ${SCRATCH}/found_${target})
  execute_process(
    COMMAND ${SCRATCH}/${target} -max_total_time=${SECONDS} -max_len=600
            -artifact_prefix=${SCRATCH}/ ${SCRATCH}/found_${target}
            ${CMAKE_CURRENT_LIST_DIR}/corpus/${target}
    RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${target}: ${said}")
  endif()
  string(REGEX MATCH "Done [^\n]*" done "${said}")
  message("${target}: ${done}")
endforeach()
