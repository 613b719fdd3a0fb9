# SPDX-License-Identifier: Apache-2.0
# lowp_torch on up to eight ranks: DTensor, fully_shard and checkpoints, with gloo on this machine.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/torch.cmake)
python_with(python torch)
if(NOT python)
  return()
endif()
use_lowp_torch()
set(ENV{OMP_NUM_THREADS} 1)
execute_process(COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/ranks_test.py ${SCRATCH} COMMAND_ERROR_IS_FATAL ANY)

execute_process(COMMAND ${python} -m torch.distributed.run --standalone --nproc-per-node 2 ${ROOT}/examples/torch/sharded.py
                OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
if(NOT printed MATCHES "step 39: loss 0[.]0.*2 ranks, step 40")
  message(FATAL_ERROR "the sharded example printed:\n${printed}")
endif()
