# SPDX-License-Identifier: Apache-2.0
# The sources look as .clang-format says.
cmake_minimum_required(VERSION 3.25)

find_program(clang_format NAMES clang-format-19 clang-format)
if(NOT clang_format)
  message("SKIPPED: clang-format is not installed")
  return()
endif()
# Other versions break other lines.
execute_process(COMMAND ${clang_format} --version OUTPUT_VARIABLE version)
if(NOT version MATCHES "version 19\\.")
  message("SKIPPED: the reference is clang-format 19, here is ${version}")
  return()
endif()
execute_process(
  COMMAND git ls-files --cached --others --exclude-standard *.hpp *.inc *.cpp *.cuh *.cu
  WORKING_DIRECTORY ${ROOT} OUTPUT_VARIABLE files RESULT_VARIABLE status ERROR_QUIET)
if(NOT status EQUAL 0)
  message("SKIPPED: this is not a git checkout")
  return()
endif()
string(REPLACE "\n" ";" files "${files}")
list(REMOVE_ITEM files "")

set(there "")
foreach(file IN LISTS files)
  if(EXISTS ${ROOT}/${file})
    list(APPEND there ${file})
  endif()
endforeach()
# A single process takes a third of the time of one for each file.
execute_process(COMMAND ${clang_format} --dry-run -Werror ${there} WORKING_DIRECTORY ${ROOT} RESULT_VARIABLE status
                ERROR_VARIABLE said)
if(NOT status EQUAL 0)
  string(REGEX MATCHALL "[^ \n]+:[0-9]+:[0-9]+: error" places "${said}")
  list(TRANSFORM places REPLACE ":.*" "")
  list(REMOVE_DUPLICATES places)
  list(JOIN places " " unformatted)
  message(FATAL_ERROR "run: ${clang_format} -i ${unformatted}\n${said}")
endif()
