# SPDX-License-Identifier: Apache-2.0
# PyTorch and ml_dtypes, which bench/peers/peers.py times, compute what it says that lowp does.
cmake_minimum_required(VERSION 3.25)
include(${ROOT}/tests/support/python.cmake)
python_with(python numpy torch ml_dtypes)
if(NOT python)
  return()
endif()

function(expect_cases program)
  execute_process(
    COMMAND ${python} ${ROOT}/bench/peers/peers.py ${program} --repetitions 1 --min-time 0
    OUTPUT_VARIABLE json COMMAND_ERROR_IS_FATAL ANY)
  foreach(case IN LISTS ARGN)
    string(FIND "${json}" "\"run_name\": \"${program}/${case}/L2\"" place)
    if(place EQUAL -1)
      message(SEND_ERROR "bench/peers/peers.py ${program} does not time ${case}")
    endif()
  endforeach()
endfunction()

expect_cases(cast float->bfloat16/nearest_even/torch float8_e5m2->float/exact/ml_dtypes)
expect_cases(fused_add bfloat16,float/nearest_even/torch)
expect_cases(softmax float/8192/torch float16/128/torch log/bfloat16/1024/torch)
expect_cases(pieces gelu_tanh/bfloat16/torch gelu/float/torch silu/bfloat16/torch layer_norm/float/torch rms_norm/float16/torch
             add_rms_norm/bfloat16/torch add_layer_norm/float/torch
             gather_rows/float16/torch scatter_add_rows/bfloat16/torch
             sum/bfloat16/torch)
expect_cases(backward softmax/float/torch gelu/float/torch cross_entropy/bfloat16/torch layer_norm/bfloat16/torch)
expect_cases(census)
