# SPDX-License-Identifier: Apache-2.0
# A backend's instructions are inlined in its kernels: in OBJECT, a large unit, only the kernels'
# entries remain of it. g++ may leave calls of single instructions in kernels that it judges too large.
cmake_minimum_required(VERSION 3.25)

find_program(nm nm)
if(NOT nm)
  message("SKIPPED: nm is not installed")
  return()
endif()

execute_process(COMMAND ${nm} -C ${OBJECT} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL " W (void )?lowp::simd::unit_[01]+::(avx|portable|neon)[a-z0-9_]*::[a-z0-9_]+" symbols
       "${symbols}")
set(entries ${symbols})
list(FILTER entries INCLUDE REGEX "::enter$")
list(FILTER symbols EXCLUDE REGEX "::(enter|available)$")
foreach(symbol IN LISTS symbols)
  message(SEND_ERROR "a kernel calls its instruction, which should be inlined:${symbol}")
endforeach()
if(NOT entries)
  message(SEND_ERROR "${OBJECT} has no kernel")
endif()
