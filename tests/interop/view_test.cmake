# SPDX-License-Identifier: Apache-2.0
# Accesses through a view and through the foreign type alternate, when the optimizer sees both.
cmake_minimum_required(VERSION 3.25)
file(MAKE_DIRECTORY ${SCRATCH})
separate_arguments(warnings UNIX_COMMAND "${WARNINGS}")
find_path(eigen Eigen/Core PATH_SUFFIXES eigen3)
if(eigen)
  list(APPEND warnings -isystem ${eigen})
endif()
find_program(clang clang++)
set(compilers ${CXX})
if(clang)
  list(APPEND compilers ${clang})
endif()
foreach(compiler IN LISTS compilers)
  foreach(level O2 O3)
    execute_process(
      COMMAND ${compiler} -std=c++20 -${level} ${warnings} -I${ROOT}/include
              ${ROOT}/tests/interop/aliasing.cpp -o ${SCRATCH}/aliasing
      RESULT_VARIABLE status ERROR_VARIABLE text)
    if(NOT status EQUAL 0)
      message(FATAL_ERROR "${compiler} -${level}: ${text}")
    endif()
    execute_process(COMMAND ${SCRATCH}/aliasing RESULT_VARIABLE status OUTPUT_VARIABLE text)
    if(NOT status EQUAL 0)
      message(SEND_ERROR "${compiler} -${level}: ${text}")
    endif()
  endforeach()
endforeach()
