# SPDX-License-Identifier: Apache-2.0
# bench/training/README.md, and the six storages of the project's README.md, are what their script writes
# from the results beside it. A loss that changes is noticed.
cmake_minimum_required(VERSION 3.25)

find_program(python python3)
if(NOT python)
  message("SKIPPED: there is no python3")
  return()
endif()

function(table out)
  execute_process(COMMAND ${python} ${ROOT}/bench/training/table.py ${ARGN}
                  OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
  set(${out} "${printed}" PARENT_SCOPE)
endfunction()

table(page)
file(READ ${ROOT}/bench/training/README.md committed)
if(NOT page STREQUAL committed)
  message(SEND_ERROR "bench/training/README.md is not what bench/training/table.py writes")
endif()

file(MAKE_DIRECTORY ${SCRATCH})
file(READ ${ROOT}/README.md readme)
file(WRITE ${SCRATCH}/README.md "${readme}")
table(nothing --into ${SCRATCH}/README.md)
file(READ ${SCRATCH}/README.md written)
if(NOT written STREQUAL readme)
  message(SEND_ERROR "the table in README.md is not what bench/training/table.py --into writes")
endif()

# Change one loss in the results: both pages change. It is the 13th cell; the first cells have no
# commas but in quotes.
file(COPY ${ROOT}/bench/training/results DESTINATION ${SCRATCH})
file(STRINGS ${SCRATCH}/results/runs.csv rows)
list(GET rows 0 columns)
list(GET rows 1 row)
string(REPEAT "[^,]*," 12 twelve_names)
string(REGEX REPLACE "^(([^,\"]*,)+(\"[^\"]*\",)+([^,]*,[^,]*,[^,]*,[^,]*,[^,]*,))[^,]*" "\\19.5" other
                     "${row}")
if(NOT columns MATCHES "^${twelve_names}held_out," OR other STREQUAL row)
  message(SEND_ERROR "results/runs.csv has no loss where this test looks for one: ${columns}")
endif()
file(READ ${SCRATCH}/results/runs.csv runs)
string(REPLACE "${row}" "${other}" runs "${runs}")
file(WRITE ${SCRATCH}/results/runs.csv "${runs}")
table(page ${SCRATCH}/results)
table(brief --brief ${SCRATCH}/results)
if(page STREQUAL committed)
  message(SEND_ERROR "bench/training/table.py does not see a loss that has changed")
endif()
string(FIND "${readme}" "${brief}" place)
if(NOT place EQUAL -1)
  message(SEND_ERROR "bench/training/table.py --brief does not see a loss that has changed")
endif()
