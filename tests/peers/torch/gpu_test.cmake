# SPDX-License-Identifier: Apache-2.0
# The optimizers of examples/torch for a GPU. nvcc compiles them, and they load beside PyTorch's CUDA
# build. They step on the emulated GPU in the folder that LOWP_GPU names.
cmake_minimum_required(VERSION 3.25)
include(${ROOT}/tests/support/python.cmake)
python_with(python torch)
find_program(nvcc nvcc HINTS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
if(NOT python OR NOT nvcc)
  if(python)
    message("SKIPPED: nvcc is not installed")
  endif()
  return()
endif()
set(ENV{CUDACXX} ${nvcc})
set(ENV{CXX} ${CXX})
set(ENV{TORCH_EXTENSIONS_DIR} ${SCRATCH}/extensions)
set(ENV{PYTHONPATH} ${ROOT}/examples/torch)
set(ENV{PYTHONDONTWRITEBYTECODE} 1)
set(test ${CMAKE_CURRENT_LIST_DIR}/gpu_test.py)
execute_process(COMMAND ${python} ${test} build COMMAND_ERROR_IS_FATAL ANY)
if(NOT DEFINED ENV{LOWP_GPU})
  message("SKIPPED: LOWP_GPU does not name an emulated GPU")
  return()
endif()
set(ENV{NVCC_APPEND_FLAGS} "-no-compress --cudart shared")  # the emulated GPU reads PTX and is a runtime
execute_process(COMMAND sh -c "root=${ROOT}; . ${ROOT}/tests/cuda/gpu.sh && on_device ${python} ${test} step"
                COMMAND_ERROR_IS_FATAL ANY)
