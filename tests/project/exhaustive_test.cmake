# SPDX-License-Identifier: Apache-2.0
# The exhaustive tests are built where they run. Here the compiler reads them and makes no code.
cmake_minimum_required(VERSION 3.25)
include(${ROOT}/tests/support/run.cmake)

string(REPLACE " " ";" warnings "${WARNINGS}")
file(GLOB sources ${ROOT}/tests/exhaustive/*_test.cpp)
if(NOT sources)
  message(FATAL_ERROR "there are no exhaustive tests")
endif()
foreach(source IN LISTS sources)
  run(${CXX} -std=c++20 -fsyntax-only ${warnings} -Wno-unknown-pragmas -DLOWP_TEST_BACKENDS=lowp::simd::portable
      "-DLOWP_TESTS=\"${ROOT}/tests\"" -I${ROOT}/include -I${ROOT}/tests ${source})
endforeach()
