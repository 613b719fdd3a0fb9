# SPDX-License-Identifier: Apache-2.0
# Instructions that softmax issues for an element, counted in machine code: so few that a GPU waits
# for its memory. Take a GPU with 132 multiprocessors at 1.98 GHz and 4.3 TB/s of memory. Each
# multiprocessor issues for 128 threads a clock. The GPU issues 31 instructions in the time of 4
# bytes, and 62 in that of 8.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/nvcc.cmake)
find_program(disassembler nvdisasm PATHS /usr/local/cuda/bin)
find_program(python python3)
if(NOT nvcc)
  return()
endif()
if(NOT disassembler OR NOT python)
  message("SKIPPED: nvdisasm or python3 is not installed")
  return()
endif()

file(MAKE_DIRECTORY ${SCRATCH})
compile(${CXX} -arch=sm_90 -cubin ${ROOT}/tests/cuda/row_code.cu -o ${SCRATCH}/row_code.cubin)
run(${disassembler} ${SCRATCH}/row_code.cubin)
file(WRITE ${SCRATCH}/row_code.txt "${printed}")
run(${python} ${ROOT}/tests/cuda/row_code.py ${SCRATCH}/row_code.txt)
message("${printed}")
foreach(type bfloat16 float)
  set(most_bfloat16 31)
  set(most_float 62)
  foreach(team 32 256)
    if(NOT printed MATCHES "${type} ${team}: ([0-9]+\\.[0-9]+)")
      message(SEND_ERROR "softmax of ${type} by teams of ${team} was not counted")
    elseif(CMAKE_MATCH_1 GREATER most_${type})
      message(SEND_ERROR "softmax of ${type} by teams of ${team} issues ${CMAKE_MATCH_1} instructions "
              "an element, more than ${most_${type}}")
    endif()
  endforeach()
endforeach()
