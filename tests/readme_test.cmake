# SPDX-License-Identifier: Apache-2.0
# The README prints every small example as it is, with the output that it has.
cmake_minimum_required(VERSION 3.25)

file(GLOB sources ${ROOT}/examples/*.cpp)
if(NOT EXISTS ${ROOT}/README.md OR NOT sources)
  message("SKIPPED: no README.md or no examples")
  return()
endif()

file(READ ${ROOT}/README.md readme)
foreach(source IN LISTS sources)
  cmake_path(GET source STEM name)
  set(program ${BUILD}/examples/${name})
  if(NOT EXISTS ${program})
    message("SKIPPED: the examples are not built")
    return()
  endif()

  file(READ ${source} code)
  string(REGEX REPLACE "^// SPDX[^\n]*\n" "" code "${code}")
  execute_process(COMMAND ${program} OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
  foreach(part code output)
    string(FIND "${readme}" "\n${${part}}" place)
    if(place EQUAL -1)
      message(SEND_ERROR "README.md does not have the ${part} of ${name} as it is:\n${${part}}")
    endif()
  endforeach()
endforeach()
