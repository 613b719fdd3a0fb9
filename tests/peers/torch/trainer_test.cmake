# SPDX-License-Identifier: Apache-2.0
# The optimizer within Trainer of Hugging Face: the program of examples/torch.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/torch.cmake)
python_with(python torch transformers accelerate)
if(NOT python)
  return()
endif()
use_lowp_torch()
set(ENV{HF_HUB_OFFLINE} 1)
execute_process(COMMAND ${python} ${ROOT}/examples/torch/trainer.py OUTPUT_VARIABLE printed
                COMMAND_ERROR_IS_FATAL ANY)
if(NOT printed MATCHES "lowp_torch.optimizer.AdamW: loss 3[.][0-9]+, then 0[.]")
  message(FATAL_ERROR "the example of Trainer printed:\n${printed}")
endif()
