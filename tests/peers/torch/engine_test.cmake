# SPDX-License-Identifier: Apache-2.0
# Steps of the engine of examples/torch beside fused ones, for every kind. It compiles these, which takes
# minutes: only where PyTorch is.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/torch.cmake)
python_with(python torch)
if(NOT python)
  return()
endif()
string(REPLACE " " ";" flags "${WARNINGS}")
list(APPEND flags -std=c++20 -fopenmp -I${ROOT}/include -I${ROOT}/examples/torch/lowp_torch)
set(engine ${SCRATCH}/engine.o)
file(MAKE_DIRECTORY ${SCRATCH})
execute_process(COMMAND ${CXX} -O2 ${flags} -c ${ROOT}/examples/torch/lowp_torch/engine.cpp -o ${engine}
                COMMAND_ERROR_IS_FATAL ANY)
foreach(optimizer adamw lion direction)
  foreach(rounding nearest_even stochastic stochastic_fast)
    execute_process(
      COMMAND ${CXX} -O1 ${flags} -DLOWP_SANITIZED -DENGINE_OPTIMIZER=${optimizer}
              -DENGINE_ROUNDING=${rounding} ${CMAKE_CURRENT_LIST_DIR}/engine.cpp ${engine} -o
              ${SCRATCH}/program
      COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND ${SCRATCH}/program COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endforeach()
