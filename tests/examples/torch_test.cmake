# SPDX-License-Identifier: Apache-2.0
# The libraries of examples/torch are C++ that compiles, where there is no PyTorch: one kind of each
# source, as build.py has them.
cmake_minimum_required(VERSION 3.25)

file(GLOB sources ${ROOT}/examples/torch/lowp_torch/*.cpp)
if(NOT sources)
  message(FATAL_ERROR "there are no sources in ${ROOT}/examples/torch/lowp_torch")
endif()
foreach(source IN LISTS sources)
  cmake_path(GET source STEM name)
  set(kind "")
  if(name STREQUAL "step")
    set(kind -DLOWP_TORCH_OPTIMIZER=adamw -DLOWP_TORCH_ELEMENT=bfloat16 -DLOWP_TORCH_STORAGE=master
             -DLOWP_TORCH_MOMENT=bfloat16 -DLOWP_TORCH_ROUNDING=stochastic)
  elseif(name STREQUAL "rows")
    set(kind -DLOWP_TORCH_ELEMENT=bfloat16)
  endif()
  execute_process(COMMAND ${CXX} -std=c++20 -fopenmp -fsyntax-only -I${ROOT}/include ${kind} ${source}
                  RESULT_VARIABLE status ERROR_VARIABLE diagnostics)
  if(NOT status EQUAL 0)
    message(SEND_ERROR "${source}:\n${diagnostics}")
  endif()
endforeach()
