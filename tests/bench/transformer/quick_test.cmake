# SPDX-License-Identifier: Apache-2.0
# The program of bench/transformer, if it is built: every way of rounding learns something in a few
# steps, and none but exact products gives what fp32 gives.
cmake_minimum_required(VERSION 3.25)

set(program ${BUILD}/bench/transformer/transformer)
if(NOT EXISTS ${program})
  message("SKIPPED: bench/transformer is not built: configure with -DLOWP_BUILD_TRAINING=ON")
  return()
endif()
file(MAKE_DIRECTORY ${SCRATCH})
execute_process(COMMAND ${program} --text ${ROOT}/LICENSE --seeds 1 --steps 30 --csv ${SCRATCH}/runs.csv
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(STRINGS ${SCRATCH}/runs.csv runs)
list(POP_FRONT runs)
set(losses "")
foreach(run IN LISTS runs)
  string(REGEX MATCH ",([0-9.]+)$" loss "${run}")
  if(NOT CMAKE_MATCH_1 LESS 3.5)  # of random weights: above 4
    message(SEND_ERROR "nothing is learned: ${run}")
  endif()
  list(APPEND losses ${CMAKE_MATCH_1})
endforeach()
list(LENGTH losses count)
list(REMOVE_DUPLICATES losses)
list(LENGTH losses different)
if(count LESS 17 OR NOT different EQUAL count)
  message(SEND_ERROR "of ${count} losses, ${different} are different: ${losses}")
endif()
execute_process(COMMAND ${program} --ways nvfp5 --text ${ROOT}/LICENSE --csv ${SCRATCH}/none.csv
                RESULT_VARIABLE status ERROR_VARIABLE said OUTPUT_QUIET)
if(status EQUAL 0 OR NOT said MATCHES "no way to train is called 'nvfp5': choose among fp32, mxfp8")
  message(SEND_ERROR "an unknown way: ${status}, ${said}")
endif()
