# SPDX-License-Identifier: Apache-2.0
# The linker keeps one unit's copy of an inline function, and the other units must live with its
# instructions. A unit built at -O0 inlines nothing by itself. The functions that its OBJECT leaves
# for others are not the library's, or have the unit's flags in their names. So do its vectors of
# types of its own. With --all the same is asked of EVERY_OPERATION.
cmake_minimum_required(VERSION 3.25)

find_program(nm nm)
if(NOT nm)
  message("SKIPPED: nm is not installed")
  return()
endif()

execute_process(COMMAND ${nm} ${OBJECT} ${EVERY_OPERATION} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
if(NOT symbols MATCHES "4lowp")
  message(FATAL_ERROR "${OBJECT} does not use the library")
endif()
set(ours "4lowp|St14numeric_limits|St4hash|St6vectorIN4lowp6detail")
string(REGEX MATCHALL " W _Z+N[VKRO]*(${ours})[^\n]*" symbols "${symbols}")
# An aggregate's implicit constructor cannot be told to leave no body.
list(FILTER symbols EXCLUDE REGEX "C[12]Ev$")
foreach(symbol IN LISTS symbols)
  if(symbol MATCHES "4lowp" AND NOT symbol MATCHES "unit_[01]+")
    message(SEND_ERROR "shared between units with different flags:${symbol}")
  endif()
endforeach()
