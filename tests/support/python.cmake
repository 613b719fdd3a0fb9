# SPDX-License-Identifier: Apache-2.0
# python_with(OUT MODULE...): the interpreter that LOWP_PYTHON in the environment names, or else
# python3. If no interpreter has these modules, OUT is empty, and the line of a skipped test is
# printed.
function(python_with out)
  set(${out} "" PARENT_SCOPE)
  if(DEFINED ENV{LOWP_PYTHON})
    set(python $ENV{LOWP_PYTHON})
  else()
    find_program(python python3)
  endif()
  if(NOT python)
    message("SKIPPED: python3 is not installed")
    return()
  endif()
  list(JOIN ARGN ", " modules)
  execute_process(COMMAND ${python} -c "import ${modules}" RESULT_VARIABLE status
                  ERROR_VARIABLE error)
  if(NOT status EQUAL 0)
    message("SKIPPED: ${python} lacks one of ${modules} (set LOWP_PYTHON to one that has them): ${error}")
    return()
  endif()
  set(${out} ${python} PARENT_SCOPE)
endfunction()
