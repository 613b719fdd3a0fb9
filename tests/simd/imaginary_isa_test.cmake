# SPDX-License-Identifier: Apache-2.0
# A backend is one file, its #include and one word in a list. The test adds the backend of
# include/lowp/README.md to a copy of the library, and runs it.
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE ${SCRATCH})
file(COPY ${ROOT}/include DESTINATION ${SCRATCH})

file(READ ${ROOT}/include/lowp/README.md readme)
string(REGEX MATCH "```cpp\n([^`]*struct imaginary[^`]*)```" found "${readme}")
if(NOT found)
  message(FATAL_ERROR "include/lowp/README.md shows no struct imaginary")
endif()
set(simd ${SCRATCH}/include/lowp/simd)
file(WRITE ${simd}/isa/imaginary.hpp "${CMAKE_MATCH_1}")

file(READ ${simd}/dispatch.hpp dispatch)
string(REPLACE "#include <lowp/simd/isa/portable.hpp>"
               "#include <lowp/simd/isa/imaginary.hpp>\n#include <lowp/simd/isa/portable.hpp>" changed
               "${dispatch}")
string(REPLACE "using native = isa_list<portable," "using native = isa_list<portable, imaginary,"
               changed "${changed}")
file(WRITE ${simd}/dispatch.hpp "${changed}")

file(WRITE ${SCRATCH}/main.cpp [[
#include <lowp/lowp.hpp>
#include <cstdio>
#include <vector>
int main() {
  std::vector<lowp::bfloat16> x(1000), y(x.size());
  for (int i = 0; i < 1000; ++i) x[i] = lowp::bfloat16(i) / 7;
  std::vector<float> wide(x.size());
  lowp::cast(x, wide);
  lowp::cast(wide, y);
  std::printf("%s %s\n", lowp::isa().data(), x == y ? "agrees" : "differs");
}
]])
execute_process(
  COMMAND ${CXX} -std=c++20 -O1 -I${SCRATCH}/include ${SCRATCH}/main.cpp -o ${SCRATCH}/main
  COMMAND_ERROR_IS_FATAL ANY)
set(ENV{LOWP_ISA} imaginary)
execute_process(COMMAND ${SCRATCH}/main OUTPUT_VARIABLE out COMMAND_ERROR_IS_FATAL ANY)
if(NOT out STREQUAL "imaginary agrees\n")
  message(FATAL_ERROR "${out}")
endif()
