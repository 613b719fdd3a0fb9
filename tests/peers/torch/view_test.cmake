# SPDX-License-Identifier: Apache-2.0
# Spans of the real library's tensors.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/torch.cmake)
run_with_libtorch(${CMAKE_CURRENT_LIST_DIR}/view.cpp)
