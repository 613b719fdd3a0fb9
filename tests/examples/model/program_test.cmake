# SPDX-License-Identifier: Apache-2.0
# The program of examples/model as a shell sees it: its status and the places that it writes. A
# signal leaves no file behind.
cmake_minimum_required(VERSION 3.25)

set(program ${BUILD}/examples/lowp-model)
if(NOT EXISTS ${program})
  message("SKIPPED: the examples are not built")
  return()
endif()
file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH})

# file_of(NAME LENGTH SHAPE BYTES DATA): one tensor. LENGTH, of the header, is a number as the octal digits
# that printf takes; it is padded to that.
function(file_of name length shape bytes data)
  set(header "{\"w\":{\"dtype\":\"F32\",\"shape\":[${shape}],\"data_offsets\":[0,${bytes}]}}")
  execute_process(COMMAND sh -c "printf '\\${length}\\0\\0\\0\\0\\0\\0\\0%-'$((0${length}))'s${data}' '${header}'"
                  OUTPUT_FILE ${SCRATCH}/${name} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# 1, which fits anything, and 1e9.
file_of(model 100 2 8 "\\0\\0\\200\\077\\050\\153\\156\\116")

function(ends_with wanted)
  execute_process(COMMAND ${program} ${ARGN} WORKING_DIRECTORY ${SCRATCH} RESULT_VARIABLE status
                  OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT status EQUAL wanted)
    message(SEND_ERROR "lowp-model ${ARGN}: ${status}, not ${wanted}\n${out}${err}")
  endif()
  if(wanted EQUAL 2 AND (NOT err MATCHES "^lowp-model: [^\n]*\n$" OR NOT out STREQUAL ""))
    message(SEND_ERROR "lowp-model ${ARGN}: not one line:\n${out}${err}")
  elseif(NOT wanted EQUAL 2 AND NOT err STREQUAL "")
    message(SEND_ERROR "lowp-model ${ARGN}: said ${err}")
  endif()
endfunction()
ends_with(0 audit model --to bfloat16)
ends_with(1 audit model --to float16)
ends_with(0 audit model --to float16 --scale tensor)
ends_with(2 audit missing --to float16)
ends_with(2)
ends_with(0 --help)
ends_with(0 convert model out --to bfloat16)
ends_with(0 diff model model)
ends_with(1 diff model out)
ends_with(0 diff model out --within 0.5)
ends_with(2 diff model)

# The output may be gone.
execute_process(COMMAND sh -c "${program} audit model --to bfloat16 >/dev/full"
                WORKING_DIRECTORY ${SCRATCH} RESULT_VARIABLE status ERROR_VARIABLE err)
if(EXISTS /dev/full AND (NOT status EQUAL 2 OR NOT err MATCHES "standard output: No space left"))
  message(SEND_ERROR "a full standard output: ${status}\n${err}")
endif()

execute_process(COMMAND sh -c "${program} audit missing --to bfloat16 2>/dev/full"
                WORKING_DIRECTORY ${SCRATCH} RESULT_VARIABLE status)
if(EXISTS /dev/full AND NOT status EQUAL 2)
  message(SEND_ERROR "a full standard error: ${status}")
endif()

# Two gigabytes of zeros take longer than it takes to stop.
file_of(large 120 536870912 2147483648 "")
execute_process(COMMAND sh -c "truncate -s $((8 + 0120 + 2147483648)) large" WORKING_DIRECTORY ${SCRATCH})
# stopped(KILLS STATUS ERROR): the shell's commands KILLS end $child.
function(stopped kills wanted text)
  execute_process(
    COMMAND sh -c "{ ${program} convert large out --to float16 & } && child=$! && sleep 0.3 && ${kills} ; wait $child"
    WORKING_DIRECTORY ${SCRATCH} RESULT_VARIABLE status ERROR_VARIABLE err)
  if(NOT status EQUAL wanted OR NOT err MATCHES "^${text}$")
    message(SEND_ERROR "${kills}: ${status}\n${err}")
  endif()
endfunction()
foreach(signal INT TERM HUP XCPU)
  stopped("kill -${signal} $child" 130 "lowp-model: interrupted\n")
endforeach()
# After nohup, a hangup ends nothing. A limit of a file's size ends the work, not the process.
execute_process(COMMAND sh -c "trap '' HUP && { ${program} convert large out --to float16 & } && child=$! &&
                               sleep 0.3 && kill -HUP $child && sleep 0.2 && kill -INT $child && wait $child"
                WORKING_DIRECTORY ${SCRATCH} RESULT_VARIABLE status ERROR_VARIABLE err)
if(NOT status EQUAL 130 OR NOT err STREQUAL "lowp-model: interrupted\n")
  message(SEND_ERROR "a hangup under nohup: ${status}\n${err}")
endif()
execute_process(COMMAND sh -c "ulimit -f 64 && ${program} convert large out --to float16"
                WORKING_DIRECTORY ${SCRATCH} RESULT_VARIABLE status ERROR_VARIABLE err)
if(NOT status EQUAL 2 OR NOT err STREQUAL "lowp-model: cannot write 'out': File too large\n")
  message(SEND_ERROR "a limit of the file's size: ${status}\n${err}")
endif()
file(GLOB left RELATIVE ${SCRATCH} ${SCRATCH}/*)
if(NOT left STREQUAL "large;model;out")
  message(SEND_ERROR "there is ${left}")
endif()
# The next one names the remains of a killed one.
stopped("kill -KILL $child" 137 ".*")
stopped("kill -INT $child" 130
        "lowp-model: note: 'out.part-[0-9]+-0', [0-9]+ bytes, is of process [0-9]+, which does not run here: remove it\nlowp-model: interrupted\n")
file(GLOB left ${SCRATCH}/out.part-*)
file(REMOVE ${SCRATCH}/large ${left})
file(GLOB left RELATIVE ${SCRATCH} ${SCRATCH}/*)
if(NOT left STREQUAL "model;out")
  message(SEND_ERROR "there is ${left}")
endif()
ends_with(0 diff model out --within 0.5)
