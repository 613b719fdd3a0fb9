# SPDX-License-Identifier: Apache-2.0
# The kernels' code by nvcc, for three generations of GPUs and under --use_fast_math: nothing flushed to zero or
# approximate, and registers only. For sm_90 the PTX of all kernels is read. Its machine code is read by
# counts_test.cmake. For sm_80 and sm_100, one kernel of each kind is compiled to machine code. If clang is installed,
# it is the host's compiler there: nvcc then reads the headers in another way.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/nvcc.cmake)
if(NOT nvcc)
  return()
endif()

# refuse(TARGET PTX): no instruction flushes, approximates, keeps registers in memory or adds floats in any order.
function(refuse target ptx)
  foreach(forbidden "[a-z0-9.]+\\.ftz[a-z0-9.]*" "[a-z0-9.]+\\.approx[a-z0-9.]*" "(ld|st)\\.local"
          "atom[a-z.]*\\.f[0-9]+" "red[a-z.]*\\.f[0-9]+")
    file(STRINGS ${ptx} lines REGEX "[ \t]${forbidden}" LIMIT_COUNT 3)
    if(lines)
      message(SEND_ERROR "sm_${target}: PTX has ${lines}")
    endif()
  endforeach()
endfunction()

file(MAKE_DIRECTORY ${SCRATCH})
set(ptx ${SCRATCH}/all.ptx)
compile(${CXX} -arch=compute_90 ${compiles_sooner} --use_fast_math -ptx ${ROOT}/tests/cuda/instances.cu -o ${ptx})
file(STRINGS ${ptx} kernels REGEX "\\.entry")
list(LENGTH kernels kernels)
if(kernels LESS 100)
  message(FATAL_ERROR "sm_90: only ${kernels} kernels were compiled")
endif()
refuse(90 ${ptx})

set(host ${CXX})
if(clang)
  set(host ${clang})
endif()
foreach(target 80 100)
  file(REMOVE_RECURSE ${SCRATCH}/${target})
  file(MAKE_DIRECTORY ${SCRATCH}/${target})
  compile(${host} -arch=sm_${target} -DLOWP_TEST_SOME --use_fast_math -Xptxas -v --keep --keep-dir
          ${SCRATCH}/${target} -cubin ${ROOT}/tests/cuda/instances.cu
          -o ${SCRATCH}/${target}/instances.cubin)

  string(REGEX MATCHALL "[0-9]+ bytes stack frame, [0-9]+ bytes spill stores, [0-9]+ bytes spill loads"
         frames "${printed}")
  list(LENGTH frames kernels)
  list(REMOVE_DUPLICATES frames)
  if(kernels LESS 30)
    message(FATAL_ERROR "sm_${target}: only ${kernels} kernels were compiled")
  endif()
  if(NOT frames STREQUAL "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads")
    message(SEND_ERROR "sm_${target}: a kernel keeps registers in memory: ${frames}")
  endif()

  file(GLOB ptx ${SCRATCH}/${target}/*.ptx)
  refuse(${target} ${ptx})
  foreach(expected "ld\\.global\\.v4" "st\\.global\\.v4" "fma\\.rn\\.f32" "div\\.rn\\.f32"
          "sqrt\\.rn\\.f32" "cvt\\.rn\\.bf16x2\\.f32")
    file(STRINGS ${ptx} lines REGEX "[ \t]${expected}" LIMIT_COUNT 1)
    if(NOT lines)
      message(SEND_ERROR "sm_${target}: PTX has no ${expected}")
    endif()
  endforeach()
  if(target GREATER 80)
    file(STRINGS ${ptx} lines REGEX "cvt\\.rn\\.satfinite\\.e4m3x2\\.f32" LIMIT_COUNT 1)
    if(NOT lines)
      message(SEND_ERROR "sm_${target}: PTX does not convert to fp8 by instruction")
    endif()
  endif()
endforeach()

# The instruction whose bits differ is for those who ask for it.
foreach(asked "" -DLOWP_CUDA_CVT_RS)
  compile(${CXX} -arch=sm_100a ${asked} -ptx ${ROOT}/tests/cuda/cvt_rs.cu -o ${SCRATCH}/cvt_rs.ptx)
  file(STRINGS ${SCRATCH}/cvt_rs.ptx lines REGEX "cvt\\.rs\\.bf16x2\\.f32" LIMIT_COUNT 1)
  if((asked AND NOT lines) OR (lines AND NOT asked))
    message(SEND_ERROR "with `${asked}`, cvt.rs is used: `${lines}`")
  endif()
endforeach()
