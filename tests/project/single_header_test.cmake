# SPDX-License-Identifier: Apache-2.0
# The generated single header compiles alone and silently. It computes the bits of the headers of
# the library, and passes tests of rooms. Here every other header is a line that includes it.
cmake_minimum_required(VERSION 3.25)

set(rooms ops/fused_add train/update/adamw)

string(REPLACE " " ";" warnings "${WARNINGS}")
set(include ${SCRATCH}/include)
file(REMOVE_RECURSE ${SCRATCH})
file(GLOB_RECURSE headers RELATIVE ${ROOT}/include ${ROOT}/include/*.hpp)
foreach(header IN LISTS headers)
  file(WRITE ${include}/${header} "#include <lowp/lowp.hpp>\n")
endforeach()
execute_process(COMMAND ${CMAKE_COMMAND} -DOUT=${include}/lowp/lowp.hpp -P
                        ${ROOT}/.packaging/single_header.cmake COMMAND_ERROR_IS_FATAL ANY)

# Compiler Explorer takes no more.
file(SIZE ${include}/lowp/lowp.hpp bytes)
if(bytes GREATER 1500000)
  message(SEND_ERROR "the single header has ${bytes} bytes")
endif()

# is_silent(COMMAND...): it succeeds and prints nothing.
function(is_silent)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL 0 OR NOT out STREQUAL "")
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command} (${status})\n${out}")
  endif()
endfunction()

# Alone: in a folder of the program, twice in a unit, and in the kernels of another.
file(WRITE ${SCRATCH}/alone/alone.cpp "#include \"lowp.hpp\"\n#include \"lowp.hpp\"\n")
file(WRITE ${SCRATCH}/alone/alone.cu "#include \"lowp.hpp\"
__global__ void halve(lowp::bfloat16* x) { x[threadIdx.x] *= 0.5f; }\n")
file(COPY ${include}/lowp/lowp.hpp DESTINATION ${SCRATCH}/alone)
find_program(clang clang++)
foreach(compiler ${CXX} ${clang})
  if(compiler)
    is_silent(${compiler} -std=c++20 ${warnings} -fsyntax-only ${SCRATCH}/alone/alone.cpp)
  endif()
endforeach()
find_program(nvcc nvcc PATHS /usr/local/cuda/bin)
if(nvcc)
  is_silent(${nvcc} -std=c++20 -arch=sm_90 -ccbin ${CXX} -Werror all-warnings -c
            ${SCRATCH}/alone/alone.cu -o ${SCRATCH}/alone.o)
endif()

set(compile ${CXX} -std=c++20 -Og -DLOWP_TEST_SOME -I${include} -I${ROOT}/tests)
is_silent(${compile} ${warnings} -D${KERNELS} -DUNIT=single ${ROOT}/tests/project/flags/unit.cpp
          ${ROOT}/tests/project/sapphire/conformance.cpp -o ${SCRATCH}/conformance)
execute_process(COMMAND ${SCRATCH}/conformance COMMAND_ERROR_IS_FATAL ANY)

list(TRANSFORM rooms REPLACE "(.+)" "${ROOT}/tests/\\1_test.cpp" OUTPUT_VARIABLE sources)
is_silent(${compile} -D${KERNELS} -DLOWP_TESTS="${ROOT}/tests" ${sources} ${ROOT}/tests/support/main.cpp
          -lgtest -lpthread -o ${SCRATCH}/rooms)
execute_process(COMMAND ${SCRATCH}/rooms --gtest_brief=1 COMMAND_ERROR_IS_FATAL ANY)
