# SPDX-License-Identifier: Apache-2.0
# The umbrella as CUDA: a host pass and a device pass without a warning.
cmake_minimum_required(VERSION 3.25)

find_program(nvcc nvcc PATHS /usr/local/cuda/bin)
if(NOT nvcc)
  message("SKIPPED: nvcc is not installed")
  return()
endif()
file(MAKE_DIRECTORY ${SCRATCH})
execute_process(
  COMMAND ${nvcc} -std=c++20 -ccbin ${CXX} -Werror all-warnings -Xcompiler -Wall,-Wextra,-Wshadow
          -I${ROOT}/include -c ${ROOT}/tests/cuda/umbrella.cu -o ${SCRATCH}/umbrella.o
  RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${out}")
endif()
