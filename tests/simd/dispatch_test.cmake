# SPDX-License-Identifier: Apache-2.0
# The choice of a backend: what the environment variable LOWP_ISA may say. It is read once, so each
# word is tried in a process of its own.
cmake_minimum_required(VERSION 3.25)

string(REPLACE " " ";" warnings "${WARNINGS}")
file(MAKE_DIRECTORY ${SCRATCH})
# With OpenMP, if the compiler has it.
set(build ${CXX} -std=c++20 -O1 ${warnings} -I${ROOT}/include ${CMAKE_CURRENT_LIST_DIR}/dispatch.cpp
          -o ${SCRATCH}/dispatch)
execute_process(COMMAND ${build} -fopenmp RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
if(failed)
  execute_process(COMMAND ${build} COMMAND_ERROR_IS_FATAL ANY)
endif()

# expect(WORD FIRST_CALL REGEX): the program's last two lines, which must be alike.
function(expect word first_call regex)
  set(ENV{LOWP_ISA} "${word}")
  if(word STREQUAL "unset")
    unset(ENV{LOWP_ISA})
  endif()
  execute_process(COMMAND ${SCRATCH}/dispatch ${first_call} OUTPUT_VARIABLE out
                  ERROR_VARIABLE err COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "(available|lacking) [^\n]*\n" "" out "${out}")
  if(NOT out MATCHES "^${regex}\n${regex}\n$")
    message(SEND_ERROR "LOWP_ISA=${word}, ${first_call}: not `${regex}` twice:\n${out}")
  endif()
  if(err)
    message(SEND_ERROR "LOWP_ISA=${word}, ${first_call}: prints ${err}")
  endif()
endfunction()

set(ENV{LOWP_ISA} "")
execute_process(COMMAND ${SCRATCH}/dispatch OUTPUT_VARIABLE out COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "available [^\n]+" available "${out}")
string(REGEX MATCHALL "lacking [^\n]+" lacking "${out}")
list(TRANSFORM available REPLACE "available " "")
list(TRANSFORM lacking REPLACE "lacking " "")
message("available: ${available}; lacking: ${lacking}")
if(NOT "portable" IN_LIST available)
  message(SEND_ERROR "every machine has the portable backend")
endif()

# Without a word, the last in the list that the machine has.
list(GET available -1 best)
foreach(first_call isa cast fused_add update openmp)
  expect(unset ${first_call} "chosen ${best}")
  foreach(word IN LISTS available)
    expect(${word} ${first_call} "chosen ${word}")
  endforeach()
  # A name that the machine lacks is an error, not a silent fallback; it says what there is.
  foreach(word IN LISTS lacking ITEMS avx avx9000 PORTABLE "portable,avx2" " portable" 0)
    expect("${word}" ${first_call} "refused [^\n]*LOWP_ISA=${word} [^\n]*portable[^\n]*")
  endforeach()
  # Bytes that would be a command to a terminal are shown as numbers.
  string(ASCII 27 escape)
  string(ASCII 127 delete)
  expect("${escape}[2J\n${delete}\t" ${first_call}
         "refused [^\n]*LOWP_ISA=.x1b.2J.x0a.x7f.x09 is not a backend[^\n]*")
endforeach()

# A constructor of the program may be the first to ask.
execute_process(
  COMMAND ${CXX} -std=c++20 -O1 ${warnings} -I${ROOT}/include ${CMAKE_CURRENT_LIST_DIR}/early.cpp
          -o ${SCRATCH}/early
  COMMAND_ERROR_IS_FATAL ANY)
unset(ENV{LOWP_ISA})
execute_process(COMMAND ${SCRATCH}/early OUTPUT_VARIABLE out COMMAND_ERROR_IS_FATAL ANY)
if(NOT out STREQUAL best)
  message(SEND_ERROR "asked early: ${out}, later: ${best}")
endif()
