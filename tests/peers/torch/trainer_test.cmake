# SPDX-License-Identifier: Apache-2.0
# The optimizer within Trainer of Hugging Face: the program of examples/torch.
cmake_minimum_required(VERSION 3.25)
include(${ROOT}/tests/support/python.cmake)
python_with(python torch transformers accelerate)
if(NOT python)
  return()
endif()
set(ENV{TORCH_EXTENSIONS_DIR} ${SCRATCH}/extensions)
set(ENV{PYTHONDONTWRITEBYTECODE} 1)
set(ENV{OMP_WAIT_POLICY} passive)
set(ENV{HF_HUB_OFFLINE} 1)
set(ENV{CXX} "${CXX} -march=native")  # the bits are the same, and it compiles one backend
execute_process(COMMAND ${python} ${ROOT}/examples/torch/trainer.py OUTPUT_VARIABLE printed
                COMMAND_ERROR_IS_FATAL ANY)
if(NOT printed MATCHES "lowp_torch.optimizer.AdamW: loss 3[.][0-9]+, then 0[.]")
  message(FATAL_ERROR "the example of Trainer printed:\n${printed}")
endif()
