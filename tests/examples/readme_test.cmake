# SPDX-License-Identifier: Apache-2.0
# The numbers under the picture of examples/README.md (marks: train) are what the program prints.
# Exponentials differ in their last bits from one C library to the next. So numbers may differ by 2
# %, or by 20 units of the last digit; words may not.
cmake_minimum_required(VERSION 3.25)

set(train ${BUILD}/examples/train)
if(NOT EXISTS ${train})
  message("SKIPPED: the examples are not built")
  return()
endif()
execute_process(COMMAND ${train} --svg /dev/null OUTPUT_VARIABLE printed ERROR_QUIET
                WORKING_DIRECTORY ${BUILD} COMMAND_ERROR_IS_FATAL ANY)
file(READ ${ROOT}/examples/README.md page)

# table_of(OUT TEXT): its lines from the heading to the last row.
function(table_of out text)
  string(REGEX MATCH "\n( +loss +bytes/weight[^\n]*\n[^\n]*\n([a-z0-9-]+ +b?float[^\n]*\n)+)" found "${text}")
  if(NOT found)
    message(FATAL_ERROR "There is no table of losses in:\n${text}")
  endif()
  set(${out} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()
table_of(now "${printed}")
table_of(then "${page}")

# Numbers that have a point; the others are names or bytes.
set(number "[0-9]+\\.[0-9]+")
foreach(table now then)
  string(REGEX MATCHALL "${number}" numbers_${table} "${${table}}")
  string(REGEX REPLACE "${number}" "#" words_${table} "${${table}}")
  string(REGEX REPLACE " +" " " words_${table} "${words_${table}}")
endforeach()
if(NOT words_now STREQUAL words_then)
  message(FATAL_ERROR "examples/README.md has\n${then}train prints\n${now}")
endif()
foreach(a b IN ZIP_LISTS numbers_now numbers_then)
  foreach(x a b)
    string(REPLACE "." "" ${x} ${${x}})
    string(REGEX REPLACE "^0+([0-9])" "\\1" ${x} ${${x}})
  endforeach()
  math(EXPR difference "50 * (${a} - ${b})")
  math(EXPR allowed "${b} + 50 * 20")
  if(difference GREATER allowed OR difference LESS -${allowed})
    message(SEND_ERROR "examples/README.md has\n${then}train prints\n${now}")
  endif()
endforeach()
