# SPDX-License-Identifier: Apache-2.0
# bench/transformer/README.md is what its script writes from the results beside it.
cmake_minimum_required(VERSION 3.25)
find_program(python python3)
if(NOT python)
  message("SKIPPED: there is no python3")
  return()
endif()
execute_process(COMMAND ${python} ${ROOT}/bench/transformer/table.py OUTPUT_VARIABLE page
                COMMAND_ERROR_IS_FATAL ANY)
file(READ ${ROOT}/bench/transformer/README.md committed)
if(NOT page STREQUAL committed)
  message(SEND_ERROR "bench/transformer/README.md is not what bench/transformer/table.py writes")
endif()
