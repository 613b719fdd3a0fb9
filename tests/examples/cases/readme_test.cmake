# SPDX-License-Identifier: Apache-2.0
# The page of the known cases has the output of each as it is. What mixed.time marks is not compared: it is
# one machine's, and another at every run.
cmake_minimum_required(VERSION 3.25)

file(GLOB sources ${ROOT}/examples/cases/*.cpp)
file(READ ${ROOT}/examples/cases/README.md page)
foreach(source IN LISTS sources)
  cmake_path(GET source STEM name)
  set(program ${BUILD}/examples/cases/${name})
  if(NOT EXISTS ${program})
    message("SKIPPED: the examples are not built")
    return()
  endif()
  execute_process(COMMAND ${program} OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
  string(FIND "${page}" "<!-- begin: ${name} -->\n```\n${output}```\n<!-- end: ${name} -->" place)
  if(place EQUAL -1)
    message(SEND_ERROR "examples/cases/README.md does not have what ${name} prints; "
                       "sh examples/cases/run.sh --write puts it there:\n${output}")
  endif()
endforeach()

execute_process(COMMAND sh -c "${BUILD}/examples/cases/gaps >/dev/full" RESULT_VARIABLE status ERROR_VARIABLE err)
if(EXISTS /dev/full AND (NOT status EQUAL 1 OR NOT err STREQUAL "cannot write to the standard output\n"))
  message(SEND_ERROR "a full standard output: ${status}\n${err}")
endif()
