# SPDX-License-Identifier: Apache-2.0
# The numbers beside examples/distributed: its programs and scale.py print them again.
cmake_minimum_required(VERSION 3.25)

set(folder ${ROOT}/examples/distributed)
find_program(python python3)
find_program(mpiexec mpiexec)
if(NOT python OR NOT mpiexec OR NOT EXISTS ${BUILD}/examples/distributed)
  message("SKIPPED: there is no python3, no mpiexec, or examples/distributed is not built")
  return()
endif()

# expect(FILE COMMAND...): the command prints the contents of the file.
function(expect file)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${folder}/${file} committed)
  if(NOT printed STREQUAL committed)
    message(SEND_ERROR "${file} is not what this prints: ${ARGN}\n${printed}")
  endif()
endfunction()
expect(errors.csv ${BUILD}/examples/distributed_errors)
expect(measured.csv sh ${folder}/measure.sh ${BUILD}/examples/distributed)

execute_process(COMMAND ${python} ${folder}/scale.py OUTPUT_VARIABLE table
                COMMAND_ERROR_IS_FATAL ANY)
file(READ ${folder}/README.md page)
string(FIND "${page}" "<!-- begin: scale.py -->\n${table}<!-- end: scale.py -->" place)
if(place EQUAL -1)
  message(SEND_ERROR "README.md does not have what scale.py prints:\n${table}")
endif()
