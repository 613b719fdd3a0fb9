# SPDX-License-Identifier: Apache-2.0
# run(COMMAND...): must succeed; else the script ends with the command and its output. `printed` has
# the output.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${out}")
  endif()
  set(printed "${out}" PARENT_SCOPE)
endfunction()
