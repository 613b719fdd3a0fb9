# SPDX-License-Identifier: Apache-2.0
# All 2^32 floats through BFCVTN and FCVTN of an emulated processor, as the backend neon_bf16 uses them.
cmake_minimum_required(VERSION 3.25)

find_program(compiler aarch64-linux-gnu-g++)
find_program(emulator NAMES qemu-aarch64 qemu-aarch64-static)
if(NOT compiler OR NOT emulator)
  message("SKIPPED: no cross compiler for aarch64 with its qemu-user")
  return()
endif()

string(REPLACE " " ";" warnings "${WARNINGS}")
file(MAKE_DIRECTORY ${SCRATCH})
set(program ${SCRATCH}/program)
execute_process(
  COMMAND ${compiler} -std=c++20 -O2 -static ${warnings} -I${ROOT}/include
          ${CMAKE_CURRENT_LIST_DIR}/sweep.cpp -o ${program}
  COMMAND_ERROR_IS_FATAL ANY)

# Each share has a file, so that a run that was cut off goes on where it was.
file(SHA256 ${program} state)
string(SUBSTRING ${state} 0 12 state)
set(folder ${SCRATCH}/${state})
file(MAKE_DIRECTORY ${folder})
set(ENV{LOWP_ISA} neon_bf16)
cmake_host_system_information(RESULT processors QUERY NUMBER_OF_LOGICAL_CORES)
set(shares 64)
math(EXPR last "${shares} - 1")
execute_process(
  COMMAND seq 0 ${last}
  COMMAND xargs -I{} -P ${processors} sh -c
          "test -e {} || { ${emulator} -cpu max ${program} {} ${shares} >{}.new && mv {}.new {}; }"
  WORKING_DIRECTORY ${folder} RESULTS_VARIABLE statuses)
set(said "")
foreach(share RANGE ${last})
  foreach(name ${share} ${share}.new)
    if(EXISTS ${folder}/${name})
      file(READ ${folder}/${name} one)
      string(APPEND said "${one}")
    endif()
  endforeach()
endforeach()
string(REGEX MATCHALL "bfloat16: upper halves 1024 wrong 0\nfloat16: upper halves 1024 wrong 0\n" right "${said}")
list(LENGTH right count)
if(NOT statuses STREQUAL "0;0" OR NOT count EQUAL shares)
  message(FATAL_ERROR "${count} of ${shares} shares are right (${statuses}):\n${said}")
endif()
execute_process(COMMAND ${emulator} --version OUTPUT_VARIABLE version)
string(REGEX MATCH "version [0-9.]+" version "${version}")
message("SUMMARY: 8589934592 casts by BFCVTN and FCVTN of qemu ${version}: 0 differ")
