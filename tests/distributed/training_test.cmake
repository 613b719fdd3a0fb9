# SPDX-License-Identifier: Apache-2.0
# The sharded training example. Its parameters have the same bits on 1 to 4 ranks and without MPI.
# A resume on another number of ranks keeps them. A killed rank ends the job, not the checkpoint.
cmake_minimum_required(VERSION 3.25)

set(program ${BUILD}/examples/distributed)
find_program(mpiexec mpiexec)
if(NOT EXISTS ${program} OR NOT mpiexec)
  message("SKIPPED: examples/distributed is not built, or mpiexec is not installed")
  return()
endif()
file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH})
# Open MPI refuses root, and more ranks than processors, unless it is told otherwise.
set(ENV{OMPI_ALLOW_RUN_AS_ROOT} 1)
set(ENV{OMPI_ALLOW_RUN_AS_ROOT_CONFIRM} 1)
set(ENV{OMPI_MCA_rmaps_base_oversubscribe} 1)
set(ENV{OMPI_MCA_mpi_yield_when_idle} 1)
set(ENV{OMPI_MCA_btl_vader_single_copy_mechanism} none)

# try(COMMAND...): leaves `status`, `out` and `err`.
macro(try)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${SCRATCH} RESULT_VARIABLE status
                  OUTPUT_VARIABLE out ERROR_VARIABLE err TIMEOUT 100)
endmacro()

# parameters_of(OUT COMMAND...): the hash that the program prints.
function(parameters_of hash)
  try(${ARGN} --steps 6)
  if(NOT status EQUAL 0 OR NOT out MATCHES "parameters ([0-9a-f]+)\n$")
    message(FATAL_ERROR "${ARGN}: status ${status}\n${out}${err}")
  endif()
  set(${hash} ${CMAKE_MATCH_1} PARENT_SCOPE)
  set(out "${out}" PARENT_SCOPE)
endfunction()

set(seen "")
foreach(mode bf16 fsdp fp8-lm mxfp8)
  parameters_of(alone ${program} --no-mpi --mode ${mode})
  foreach(ranks RANGE 1 4)
    parameters_of(hash ${mpiexec} -n ${ranks} ${program} --mode ${mode})
    if(NOT hash STREQUAL alone)
      message(SEND_ERROR "${mode}: ${ranks} ranks have parameters ${hash}, one process ${alone}")
    endif()
  endforeach()

  try(${mpiexec} -n 4 ${program} --mode ${mode} --steps 3 --save ${mode})
  parameters_of(hash ${mpiexec} -n 3 ${program} --mode ${mode} --resume ${mode})
  if(NOT hash STREQUAL alone)
    message(SEND_ERROR "${mode}: resumed on 3 ranks ${hash}, without a stop ${alone}")
  endif()
  list(APPEND seen ${alone})
endforeach()
list(REMOVE_DUPLICATES seen)
list(LENGTH seen count)
if(NOT count EQUAL 4)
  message(SEND_ERROR "the modes do not have parameters of their own: ${seen}")
endif()

# The checkpoint of step 4 outlives a rank that dies in step 5.
try(${mpiexec} -n 3 ${program} --steps 6 --save killed --save-every 2 --kill-step 5 --kill-rank 1)
if(status EQUAL 0 OR NOT err MATCHES "process rank 1 .*signal 9")
  message(SEND_ERROR "a killed rank: status ${status}\n${out}${err}")
endif()
parameters_of(alone ${program} --no-mpi)
parameters_of(hash ${mpiexec} -n 2 ${program} --resume killed)
if(NOT hash STREQUAL alone)
  message(SEND_ERROR "resumed after a killed rank ${hash}, without a stop ${alone}")
endif()

# The checkpoint of step 2 outlives a rank that dies while it writes that of step 4.
foreach(byte 1 100000)
  try(${mpiexec} -n 3 ${program} --steps 2 --save torn${byte})
  try(${mpiexec} -n 3 ${program} --steps 6 --resume torn${byte} --save torn${byte} --save-every 2
      --kill-step 4 --kill-byte ${byte})
  if(status EQUAL 0 OR NOT err MATCHES "process rank 0 .*signal 9")
    message(SEND_ERROR "killed at byte ${byte}: status ${status}\n${out}${err}")
  endif()
  parameters_of(hash ${mpiexec} -n 2 ${program} --resume torn${byte})
  if(NOT out MATCHES "from step 2:" OR NOT hash STREQUAL alone)
    message(SEND_ERROR "resumed after byte ${byte}: ${hash}, without a stop ${alone}\n${out}")
  endif()
endforeach()

# A checkpoint that does not fit is refused by name, whatever the number of ranks.
try(${mpiexec} -n 2 ${program} --mode fsdp --resume killed)
if(status EQUAL 0 OR NOT err MATCHES "distributed: lowp::[^\n]*killed[^\n]*")
  message(SEND_ERROR "a checkpoint of another mode: status ${status}\n${out}${err}")
endif()

# Numbers are decimal.
try(${program} --no-mpi --steps 08 --resume killed)
if(NOT status EQUAL 0 OR NOT out MATCHES "step 8: ")
  message(SEND_ERROR "steps 08: status ${status}\n${out}${err}")
endif()

# It is refused before the work, not at the first checkpoint.
try(${program} --no-mpi --save-every 2)
if(status EQUAL 0 OR out MATCHES "loss" OR NOT err MATCHES "--save")
  message(SEND_ERROR "--save-every alone: status ${status}\n${out}${err}")
endif()
