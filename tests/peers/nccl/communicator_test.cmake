# SPDX-License-Identifier: Apache-2.0
# lowp/nccl.hpp with the package nvidia-nccl-cu13 of PyPI: compiled, linked, and run on a GPU.
cmake_minimum_required(VERSION 3.25)

include(${ROOT}/tests/support/python.cmake)
include(${ROOT}/tests/cuda/nvcc.cmake)
python_with(python nvidia.nccl)
if(NOT python OR NOT nvcc)
  return()
endif()
execute_process(
  COMMAND ${python} -c "import nvidia.nccl; print(list(nvidia.nccl.__path__)[0])"
  OUTPUT_VARIABLE package OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH})
compile(${CXX} -arch=sm_90 -isystem ${package}/include ${CMAKE_CURRENT_LIST_DIR}/unit.cu
        -Xlinker ${package}/lib/libnccl.so.2 -Xlinker -rpath,${package}/lib -o ${SCRATCH}/unit)
run(${SCRATCH}/unit)
if(NOT printed MATCHES "linked|same bits")
  message(FATAL_ERROR "${printed}")
endif()
message("${printed}")
