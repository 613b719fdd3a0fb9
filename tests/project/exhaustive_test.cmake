# SPDX-License-Identifier: Apache-2.0
# The exhaustive tests are built where they run. Here the compiler reads them and makes no code.
cmake_minimum_required(VERSION 3.25)
include(${ROOT}/tests/support/run.cmake)

string(REPLACE " " ";" warnings "${WARNINGS}")
file(GLOB sources ${ROOT}/tests/exhaustive/*_test.cpp)
if(NOT sources)
  message(FATAL_ERROR "there are no exhaustive tests")
endif()
set(read ${CXX} -std=c++20 ${warnings} -Wno-unknown-pragmas -DLOWP_TEST_BACKENDS=lowp::simd::portable
         "-DLOWP_TESTS=\"${ROOT}/tests\"" -I${ROOT}/include -I${ROOT}/tests)
# g++ parses the headers that nearly all include once, as where the tests are built.
set(shared ${SCRATCH}/support.hpp)
file(WRITE ${shared} "#include \"support/support.hpp\"\n")
if(CXX_ID STREQUAL GNU)
  run(${read} -x c++-header ${shared} -o ${shared}.gch)
endif()
foreach(source IN LISTS sources)
  run(${read} -fsyntax-only -include ${shared} ${source})
endforeach()
