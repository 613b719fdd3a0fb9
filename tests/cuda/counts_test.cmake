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
# cuda.traffic has a program of these kernels: their PTX is compiled once.
set(program ${BUILD}/tests/cuda/test_cuda.traffic)
set(compiled "")
if(LOWP_GPU AND EXISTS ${program})
  set(compiled --program ${program})
endif()
run(${python} ${ROOT}/bench/cuda/counts/counts.py --check --arch sm_90 ${compiled})
message("${printed}")
