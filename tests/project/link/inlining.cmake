# SPDX-License-Identifier: Apache-2.0
# All that a kernel computes is inlined in it: of the functions that name a backend or a pack, OBJECT, a large unit, has
# only the kernels' entries. g++ may leave calls in kernels that it judges too large, or of a function that is not
# LOWP_HOST_FN. The bits are right then, and a stochastic kernel takes ten times as long. The emulated
# fused multiply-add of portable kernels is a call by intent.
cmake_minimum_required(VERSION 3.25)

find_program(nm nm)
if(NOT nm)
  message("SKIPPED: nm is not installed")
  return()
endif()

execute_process(COMMAND ${nm} -C ${OBJECT} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "[][;]|lowp::simd::unit_[01]+::isa_list<[^>]*>" " " symbols "${symbols}")  # of the dispatch
string(REGEX MATCHALL " [TtWw] [^\n]*lowp::[^\n]*" symbols "${symbols}")
list(FILTER symbols INCLUDE REGEX "lowp::simd::unit_[01]+::(avx|portable|neon)|lowp::simd::(wide_)?pack<")
set(entries ${symbols})
list(FILTER entries INCLUDE REGEX "::enter<.*stochastic")
list(FILTER symbols EXCLUDE REGEX "::enter<|::available\\(|\\(anonymous namespace\\)|portable::rounded_once<")
foreach(symbol IN LISTS symbols)
  message(SEND_ERROR "a kernel calls a function that should be inlined:${symbol}")
endforeach()
if(NOT entries)
  message(SEND_ERROR "${OBJECT} has no stochastic kernel")
endif()
