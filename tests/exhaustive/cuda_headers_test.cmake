# SPDX-License-Identifier: Apache-2.0
# All 2^32 floats through the conversions of CUDA's headers.
cmake_minimum_required(VERSION 3.25)

set(FLOATS all)
include(${CMAKE_CURRENT_LIST_DIR}/../peers/cuda/host_functions_test.cmake)
