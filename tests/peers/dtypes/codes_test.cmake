# SPDX-License-Identifier: Apache-2.0
# The codes of dtype_codes_of are those of the systems' own packages and headers.
cmake_minimum_required(VERSION 3.25)

include(${ROOT}/tests/support/python.cmake)
python_with(python gguf ml_dtypes numpy nvidia.nccl onnx safetensors torch)
if(NOT python)
  return()
endif()
string(REPLACE " " ";" warnings "${WARNINGS}")
file(MAKE_DIRECTORY ${SCRATCH})
execute_process(COMMAND ${CXX} -std=c++20 ${warnings} -I${ROOT}/include -I${ROOT}/tests
                        ${CMAKE_CURRENT_LIST_DIR}/codes.cpp -o ${SCRATCH}/codes
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/codes_test.py ${SCRATCH}/codes
                COMMAND_ERROR_IS_FATAL ANY)
