# SPDX-License-Identifier: Apache-2.0
# The program of bench/training, if it is built: a few steps learn something, the same in each
# storage that loses nothing. Its figures do not depend on the number of runs at a time.
cmake_minimum_required(VERSION 3.25)

set(program ${BUILD}/bench/training/training)
if(NOT EXISTS ${program})
  message("SKIPPED: bench/training is not built: configure with -DLOWP_BUILD_TRAINING=ON")
  return()
endif()

# runs(OUT THREADS): the table without its times.
function(runs out threads)
  file(MAKE_DIRECTORY ${SCRATCH}/${threads})
  execute_process(
    COMMAND ${program} --quick --text ${ROOT}/LICENSE --tasks byte_mlp --configurations
            fp32,bf16,bf16-sr,split16,master --seeds 2 --threads ${threads} --csv
            ${SCRATCH}/${threads}/runs.csv
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${SCRATCH}/${threads}/runs.csv text)
  string(REGEX REPLACE ",[0-9.]+,[0-9.]+,([0-9.;]+\n)" ",\\1" text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

runs(one 1)
runs(three 3)
if(NOT one STREQUAL three)
  message(SEND_ERROR "the results depend on the number of threads:\n${one}\n${three}")
endif()
foreach(name fp32 bf16 bf16-sr split16 master)
  foreach(seed 1 2)
    if(NOT one MATCHES "\nbyte_mlp,normal,${name},${seed},[^\n]*,([0-9.]+)(;[0-9.]+)+;([0-9.]+)\n")
      message(SEND_ERROR "there is no curve of ${name}, seed ${seed}:\n${one}")
    elseif(NOT CMAKE_MATCH_3 LESS CMAKE_MATCH_1)
      message(SEND_ERROR "${name} has learned nothing: ${CMAKE_MATCH_1} to ${CMAKE_MATCH_3}")
    endif()
  endforeach()
endforeach()
# Both keep the master to the bit and differ only at ties in what the model sees of it.
foreach(seed 1 2)
  string(REGEX MATCH "\nbyte_mlp,normal,master,${seed},[^\n]*,([0-9.]+);" first "${one}")
  set(of_master ${CMAKE_MATCH_1})
  string(REGEX MATCH "\nbyte_mlp,normal,split16,${seed},[^\n]*,([0-9.]+);" first "${one}")
  if(NOT of_master STREQUAL CMAKE_MATCH_1)
    message(SEND_ERROR "master and split16 start with other weights: ${of_master}, ${CMAKE_MATCH_1}")
  endif()
endforeach()

execute_process(COMMAND ${program} --tasks nothing --text ${ROOT}/LICENSE --csv ${SCRATCH}/none.csv
                RESULT_VARIABLE status ERROR_VARIABLE said OUTPUT_QUIET)
if(status EQUAL 0 OR NOT said MATCHES "no task 'nothing': choose among byte_mlp")
  message(SEND_ERROR "an unknown task: ${status}, ${said}")
endif()
execute_process(COMMAND ${program} --configurations fp33 --text ${ROOT}/LICENSE --csv
                        ${SCRATCH}/none.csv
                RESULT_VARIABLE status ERROR_VARIABLE said OUTPUT_QUIET)
if(status EQUAL 0 OR NOT said MATCHES "no configuration 'fp33': choose among fp32, bf16")
  message(SEND_ERROR "an unknown configuration: ${status}, ${said}")
endif()
