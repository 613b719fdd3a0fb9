# SPDX-License-Identifier: Apache-2.0
# Conversions beside the package ml_dtypes of PyPI.
cmake_minimum_required(VERSION 3.25)

include(${ROOT}/tests/peers/presets/beside.cmake)
compare_conversions(${CMAKE_CURRENT_LIST_DIR}/convert_test.py ml_dtypes numpy)
