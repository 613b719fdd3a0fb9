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
file(MAKE_DIRECTORY ${SCRATCH})
foreach(rounding nearest_even stochastic stochastic_fast)
  foreach(optimizer adamw lion direction)
    list(APPEND units ${optimizer}_${rounding})
    set(${optimizer}_${rounding}
        COMMAND ${CXX} -O1 ${flags} -DLOWP_SANITIZED -DENGINE_OPTIMIZER=${optimizer} -DENGINE_ROUNDING=${rounding} -c
        ${CMAKE_CURRENT_LIST_DIR}/engine.cpp -o ${SCRATCH}/${optimizer}_${rounding}.o)
  endforeach()
endforeach()
set(engine COMMAND ${CXX} -O2 ${flags} -c ${ROOT}/examples/torch/lowp_torch/engine.cpp -o ${SCRATCH}/engine.o)
# Fingerprints take packs at -O2.
execute_process(COMMAND ${CXX} -O2 ${flags} ${CMAKE_CURRENT_LIST_DIR}/fingerprints.cpp -o ${SCRATCH}/fingerprints
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${SCRATCH}/fingerprints COMMAND_ERROR_IS_FATAL ANY)
# Commands of one call run at once: compilers of about the same time, which print nothing.
set(all ${units})
list(APPEND all engine)
list(SORT all)
while(all)
  list(POP_FRONT all one other)
  execute_process(${${one}} ${${other}} COMMAND_ERROR_IS_FATAL ANY)
endwhile()
foreach(unit ${units})
  execute_process(COMMAND ${CXX} -fopenmp ${SCRATCH}/${unit}.o ${SCRATCH}/engine.o -o ${SCRATCH}/program
                  COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${SCRATCH}/program COMMAND_ERROR_IS_FATAL ANY)
endforeach()
