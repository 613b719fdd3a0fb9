# SPDX-License-Identifier: Apache-2.0
# The transformer of bench/transformer beside the same in PyTorch, loss by loss.
cmake_minimum_required(VERSION 3.25)
include(${ROOT}/tests/support/python.cmake)
set(program ${BUILD}/bench/transformer/transformer)
if(NOT EXISTS ${program})
  message("SKIPPED: bench/transformer is not built: configure with -DLOWP_BUILD_TRAINING=ON")
  return()
endif()
python_with(python torch)
if(NOT python)
  return()
endif()
execute_process(COMMAND ${program} --text ${ROOT}/LICENSE --steps 300 --lr 0.002 --beside ${SCRATCH}
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/transformer_test.py ${SCRATCH}
                COMMAND_ERROR_IS_FATAL ANY)
