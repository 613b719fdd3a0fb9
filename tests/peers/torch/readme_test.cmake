# SPDX-License-Identifier: Apache-2.0
# The programs of examples/torch/README.md, as its reader runs them.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/torch.cmake)
python_with(python torch numpy)
if(NOT python)
  return()
endif()
set(ENV{TORCH_EXTENSIONS_DIR} ${SCRATCH}/extensions)
set(ENV{PYTHONDONTWRITEBYTECODE} 1)
set(ENV{OMP_WAIT_POLICY} passive)  # other tests run beside this one
set(ENV{LOWP_PYTHON} ${python})
set(ENV{CXX} ${CXX})
file(MAKE_DIRECTORY ${SCRATCH})

# The page's code stands beside a clone.
file(CREATE_LINK ${ROOT} ${SCRATCH}/lowp SYMBOLIC)
file(READ ${ROOT}/examples/torch/README.md page)
string(REGEX MATCHALL "```python\n[^`]*```" blocks "${page}")
list(LENGTH blocks count)
if(NOT count EQUAL 9)
  message(FATAL_ERROR "the page has ${count} programs, not 9")
endif()
list(FILTER blocks EXCLUDE REGEX CPUOffloadOptimizer)  # peers.torch.torchao steps it
list(JOIN blocks "\n" program)
string(REGEX REPLACE "```(python)?" "" program "${program}")
file(WRITE ${SCRATCH}/program.py "${program}
assert optimizer.state[model.weight]['step'] == 12
assert total.count == 1001000 and 0.5 < total.applied_ratio < 2
assert all(p.grad is None and steps[p].state[p]['step'] == 1 for p in layer.parameters())
")
execute_process(COMMAND ${python} ${SCRATCH}/program.py WORKING_DIRECTORY ${SCRATCH}
                COMMAND_ERROR_IS_FATAL ANY)

# Few weights move if bfloat16 is rounded to nearest. The other runs improve as float32 does.
execute_process(COMMAND sh ${ROOT}/examples/torch/run.sh train.py 60 OUTPUT_VARIABLE printed
                COMMAND_ECHO STDOUT ECHO_OUTPUT_VARIABLE COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[0-9.]+ less" gains "${printed}")
list(TRANSFORM gains REPLACE "^0[.]0*([0-9]+) less" "\\1")
list(LENGTH gains count)
if(NOT count EQUAL 5)
  message(FATAL_ERROR "not five runs:\n${printed}")
endif()
list(GET gains 0 float32)
list(GET gains 1 nearest)
math(EXPR half "${float32} / 2")
if(NOT nearest LESS half)
  message(SEND_ERROR "torch's bfloat16 gains ${nearest} of ${float32}")
endif()
foreach(i 2 3 4)
  list(GET gains ${i} gain)
  if(gain LESS half)
    message(SEND_ERROR "run ${i} gains ${gain} of ${float32}")
  endif()
endforeach()

execute_process(COMMAND sh ${ROOT}/examples/torch/run.sh offload.py 100000 1 OUTPUT_VARIABLE printed
                COMMAND_ERROR_IS_FATAL ANY)
if(NOT printed MATCHES "lowp, all bf16, stochastic [|] 14 [|] [0-9.]+ [|]")
  message(SEND_ERROR "no times:\n${printed}")
endif()
