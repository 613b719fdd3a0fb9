# SPDX-License-Identifier: Apache-2.0
# CUDA's narrow types in expressions with ours, without ambiguity.
cmake_minimum_required(VERSION 3.25)
include(${ROOT}/tests/support/run.cmake)
find_program(nvcc nvcc PATHS /usr/local/cuda/bin)
if(NOT nvcc)
  message("SKIPPED: nvcc is not installed")
  return()
endif()
file(MAKE_DIRECTORY ${SCRATCH})
run(${nvcc} -ccbin ${CXX} -std=c++20 -arch=sm_90 -Werror all-warnings -I${ROOT}/include
    ${ROOT}/tests/peers/cuda/types.cu -o ${SCRATCH}/types)
run(${SCRATCH}/types)
