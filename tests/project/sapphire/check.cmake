# SPDX-License-Identifier: Apache-2.0
# SOURCE says the same on this processor and on an emulated one with AVX512_BF16. It is linked with
# OBJECT if there is one. The environment variable LOWP_SAPPHIRE names the folder of the emulation.
# Its `setup DIR` prepares it; its `run DIR PROGRAM` runs a static program on it.
cmake_minimum_required(VERSION 3.25)

if("$ENV{LOWP_SAPPHIRE}" STREQUAL "" OR NOT EXISTS "$ENV{LOWP_SAPPHIRE}/run")
  message("SKIPPED: LOWP_SAPPHIRE names no folder with an emulated processor")
  return()
endif()
cmake_host_system_information(RESULT processor QUERY OS_PLATFORM)
if(NOT processor STREQUAL x86_64)
  message("SKIPPED: the emulated processor runs programs for x86-64, which this is not")
  return()
endif()

# All tests share one setup; it leaves alone what is there.
set(emulation ${BUILD}/sapphire)
file(LOCK ${emulation}.lock GUARD PROCESS)
execute_process(COMMAND $ENV{LOWP_SAPPHIRE}/setup ${emulation} RESULT_VARIABLE status
                OUTPUT_VARIABLE out ERROR_VARIABLE out)
if(NOT status EQUAL 0)
  message("SKIPPED: the emulated processor cannot be set up:\n${out}")
  return()
endif()

string(REPLACE " " ";" warnings "${WARNINGS}")
file(MAKE_DIRECTORY ${SCRATCH})
set(program ${SCRATCH}/program)
execute_process(
  COMMAND ${CXX} -std=c++20 -O2 -static ${warnings} -DUNIT=o2 -I${ROOT}/include -I${ROOT}/tests
          ${CMAKE_CURRENT_LIST_DIR}/${SOURCE} ${OBJECT} -o ${program}
  COMMAND_ERROR_IS_FATAL ANY)

# run(OUT ISA WHERE COMMAND...): what the program says after its backend. ISA is empty if any may do.
function(run out isa where)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE status)
  string(STRIP "${text}" text)
  message("${where}:\n${text}\n")
  if(NOT status EQUAL 0 OR NOT text MATCHES "^isa ([a-z0-9_]+)\n(.+)$")
    message(FATAL_ERROR "fails ${where} (${status})")
  endif()
  if(isa AND NOT isa STREQUAL CMAKE_MATCH_1)
    message(FATAL_ERROR "runs on ${CMAKE_MATCH_1} ${where}")
  endif()
  set(${out} "${CMAKE_MATCH_2}" PARENT_SCOPE)
endfunction()

run(emulated avx512_bf16 "executed under emulation" ${CMAKE_COMMAND} -E env T=800
    $ENV{LOWP_SAPPHIRE}/run ${emulation} ${program})
run(portable portable "executed on this processor" ${CMAKE_COMMAND} -E env LOWP_ISA=portable
    ${program})
run(best "" "executed on this processor" ${CMAKE_COMMAND} -E env --unset=LOWP_ISA ${program})
if(NOT emulated STREQUAL portable OR NOT best STREQUAL portable)
  message(FATAL_ERROR "the results differ")
endif()
