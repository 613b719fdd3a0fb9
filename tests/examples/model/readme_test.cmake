# SPDX-License-Identifier: Apache-2.0
# The tables of examples/model/README.md are what its script writes from the results beside it. A
# changed figure is noticed.
cmake_minimum_required(VERSION 3.25)

include(${ROOT}/tests/support/python.cmake)
python_with(python json)
if(NOT python)
  return()
endif()

set(here ${ROOT}/examples/model)
file(MAKE_DIRECTORY ${SCRATCH})
function(page_from results out)
  file(COPY_FILE ${here}/README.md ${SCRATCH}/README.md)
  execute_process(COMMAND ${python} ${here}/page.py into ${SCRATCH}/README.md ${results}
                          summary audits conversions tables COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${SCRATCH}/README.md page)
  set(${out} "${page}" PARENT_SCOPE)
endfunction()

file(READ ${here}/README.md committed)
page_from(${here}/results.json page)
if(NOT page STREQUAL committed)
  message(SEND_ERROR "examples/model/README.md is not what page.py writes from results.json")
endif()
file(READ ${here}/results.json results)
foreach(model minilm gnubg sphinx)
  foreach(figure flushed overflow)
    string(JSON other SET "${results}" ${model} formats float8_e4m3fn as_it_is ${figure} 123456)
    file(WRITE ${SCRATCH}/results.json "${other}")
    page_from(${SCRATCH}/results.json page)
    if(page STREQUAL committed)
      message(SEND_ERROR "page.py does not see that ${figure} of ${model} has changed")
    endif()
  endforeach()
endforeach()
