# SPDX-License-Identifier: Apache-2.0
# No kernel issues instructions for longer than its budget, and each has accesses of 16 bytes: see
# bench/cuda/counts/counts.py. It is asked for one generation of GPUs; the recorded table has three.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/nvcc.cmake)
include(${ROOT}/tests/support/python.cmake)
if(NOT nvcc)
  return()
endif()
python_with(python json)
if(NOT python)
  return()
endif()
set(ENV{NVCC_CCBIN} ${CXX})
run(${python} ${ROOT}/bench/cuda/counts/counts.py --check --arch sm_90)
message("${printed}")
