# SPDX-License-Identifier: Apache-2.0
# CUDA's narrow types in expressions with ours, without ambiguity.
cmake_minimum_required(VERSION 3.25)
find_program(nvcc nvcc PATHS /usr/local/cuda/bin)
if(NOT nvcc)
  message("SKIPPED: nvcc is not installed")
  return()
endif()
file(MAKE_DIRECTORY ${SCRATCH})
execute_process(
  COMMAND ${nvcc} -ccbin ${CXX} -std=c++20 -arch=sm_90 -Werror all-warnings -I${ROOT}/include
          ${ROOT}/tests/peers/cuda/types.cu -o ${SCRATCH}/types
  RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${text}")
endif()
execute_process(COMMAND ${SCRATCH}/types RESULT_VARIABLE status OUTPUT_VARIABLE text)
if(NOT status EQUAL 0)
  message(SEND_ERROR "${text}")
endif()
