# SPDX-License-Identifier: Apache-2.0
# Compares the presets `cuda` and `cuda_nosat` with CUDA's headers, compiled for the host.
cmake_minimum_required(VERSION 3.25)

find_path(cuda cuda_fp4.h PATHS /usr/local/cuda/include)
if(NOT cuda)
  message("SKIPPED: there is no cuda_fp4.h: CUDA 12.8 or newer is not installed")
  return()
endif()
string(REPLACE " " ";" warnings "${WARNINGS}")
file(MAKE_DIRECTORY ${SCRATCH})
execute_process(
  COMMAND ${CXX} -std=c++20 -O2 ${warnings} -I${ROOT}/include -I${ROOT}/tests -isystem ${cuda}
          ${CMAKE_CURRENT_LIST_DIR}/host_functions.cpp -o ${SCRATCH}/host_functions -lpthread
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${SCRATCH}/host_functions ${FLOATS} COMMAND_ERROR_IS_FATAL ANY)
