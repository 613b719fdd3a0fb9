# SPDX-License-Identifier: Apache-2.0
# Files of four bits between lowp-model and the tools that others use.
cmake_minimum_required(VERSION 3.25)

include(${ROOT}/tests/support/python.cmake)
python_with(python torch safetensors transformers compressed_tensors modelopt gguf)
if(NOT python)
  return()
endif()
set(program ${BUILD}/examples/lowp-model)
if(NOT EXISTS ${program})
  message("SKIPPED: the examples are not built")
  return()
endif()
file(REMOVE_RECURSE ${SCRATCH})
execute_process(COMMAND ${python} -B ${CMAKE_CURRENT_LIST_DIR}/blocks_test.py ${program} ${SCRATCH}
                COMMAND_ERROR_IS_FATAL ANY)
