# SPDX-License-Identifier: Apache-2.0
# 8-bit states beside those of bitsandbytes and of FlashOptim.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/torch.cmake)
python_with(python torch bitsandbytes)
if(python)
  set(ENV{TORCH_EXTENSIONS_DIR} ${SCRATCH}/extensions)
  set(ENV{PYTHONPATH} ${ROOT}/examples/torch)
  set(ENV{PYTHONDONTWRITEBYTECODE} 1)
  set(ENV{OMP_WAIT_POLICY} passive)
  set(ENV{CXX} ${CXX})
  run_beside_torch(${CMAKE_CURRENT_LIST_DIR}/states.cpp ${CMAKE_CURRENT_LIST_DIR}/states_test.py)
  python_with(python flashoptim)
  if(python)
    set(ENV{TRITON_INTERPRET} 1)
    execute_process(COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/flash_test.py ${SCRATCH}/library.so
                    COMMAND_ERROR_IS_FATAL ANY)
  endif()
endif()
