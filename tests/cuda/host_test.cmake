# SPDX-License-Identifier: Apache-2.0
# The CUDA headers as nvcc builds them, with g++ and with clang for a host compiler. It reads each
# header by itself, and builds the host side, and the value types in device code. It builds
# CUDA's own types and calls without exceptions, too. CMakeLists.txt builds the examples.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/nvcc.cmake)
if(NOT nvcc)
  return()
endif()
file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH})

file(GLOB headers RELATIVE ${ROOT}/include ${ROOT}/include/lowp/cuda/*.cuh)
foreach(header IN LISTS headers)
  string(MAKE_C_IDENTIFIER ${header} name)
  file(WRITE ${SCRATCH}/${name}.cu "#include <${header}>\n#include <${header}>\n")
  compile(${CXX} -arch=sm_90 -ptx ${SCRATCH}/${name}.cu -o ${SCRATCH}/alone.ptx)
endforeach()

# For a virtual GPU nvcc writes PTX: code_test.cmake looks at machine code.
set(virtual -arch=compute_90 ${compiles_sooner})
# Kernels have instructions that older GPUs lack.
execute_process(COMMAND ${nvcc} -std=c++20 -arch=sm_75 -ccbin ${CXX} -I${ROOT}/include -c ${SCRATCH}/${name}.cu -o
                        ${SCRATCH}/alone.o RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(status EQUAL 0 OR NOT said MATCHES "lowp/cuda needs sm_80 or newer")
  message(SEND_ERROR "sm_75: ${status}\n${said}")
endif()

foreach(host ${CXX} ${clang})
  # The portable path with the first compiler, the last backend with the other. The first one has the last
  # backend in device_*_test.cu, and all of them in project.install.*.cu.
  set(backends -DLOWP_TEST_BACKENDS=lowp::simd::portable)
  if(NOT host STREQUAL CXX)
    set(backends -D${KERNELS})
  endif()
  compile(${host} ${virtual} ${backends} -Xcompiler -fopenmp -c ${ROOT}/tests/cuda/umbrella.cu
          -o ${SCRATCH}/umbrella.o)
  # In CUDA's own headers some functions are of no use without their operators, and clang finds
  # conversions.
  compile(${host} ${virtual} -Xcompiler -Wno-unused-function,-Wno-conversion
          ${ROOT}/tests/cuda/interop.cu
          -o ${SCRATCH}/interop)
  run(${SCRATCH}/interop)
  compile(${host} ${virtual}
          -Xcompiler -fno-exceptions,-fsanitize=null,-fsanitize-undefined-trap-on-error ${ROOT}/tests/cuda/status.cu
          -o ${SCRATCH}/status)
  run(${SCRATCH}/status)
endforeach()
