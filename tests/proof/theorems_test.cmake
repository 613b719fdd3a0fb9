# SPDX-License-Identifier: Apache-2.0
# Proves conversions: README.md. It needs python3, clang++ and bitwuzla, which comes from PyPI into an
# environment of the build.
cmake_minimum_required(VERSION 3.25)

find_program(clang clang++)
if(NOT clang)
  message("SKIPPED: clang++ is not installed")
  return()
endif()
if(DEFINED ENV{LOWP_PYTHON})
  set(python $ENV{LOWP_PYTHON})
else()
  find_program(python python3)
endif()
if(NOT python)
  message("SKIPPED: python3 is not installed")
  return()
endif()

execute_process(COMMAND ${python} -c "import bitwuzla" RESULT_VARIABLE status ERROR_QUIET)
if(NOT status EQUAL 0)
  set(environment ${BUILD}/tests/proof_environment)
  if(NOT EXISTS ${environment}/bin/pip)
    execute_process(COMMAND ${python} -m venv ${environment} RESULT_VARIABLE status OUTPUT_QUIET
                    ERROR_VARIABLE error)
    if(NOT status EQUAL 0)
      message("SKIPPED: python3 has no venv (Debian: python3-venv): ${error}")
      return()
    endif()
  endif()
  execute_process(COMMAND ${environment}/bin/pip install -q bitwuzla==0.9.1 RESULT_VARIABLE status
                  ERROR_VARIABLE error)
  if(NOT status EQUAL 0)
    message("SKIPPED: bitwuzla cannot be installed from PyPI: ${error}")
    return()
  endif()
  set(python ${environment}/bin/python)
endif()

# run(SCRIPT ARGUMENT...): a failure stops the test.
function(run script)
  execute_process(
    COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/${script} --clang ${clang} --include
            ${ROOT}/include --folder ${SCRATCH} ${ARGN}
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()
run(check_model.py)
run(mutate.py --limit 120)
run(prove.py --limit 300 --json ${SCRATCH}/theorems.json)
