// SPDX-License-Identifier: Apache-2.0
// Weights in fp32, moments in less.
#include "stored_model.hpp"

namespace training {

namespace {

using lowp::bfloat16, lowp::float16, lowp::float8_e4m3fn, lowp::float8_e5m2;

constexpr roundings nearest{}, second{.second = rounded::stochastic},
    both{.first = rounded::stochastic, .second = rounded::stochastic};

template <class M, class V = M>
constexpr auto in = store<adamw, plain<float>, plain<float>, M, V>;

using e4m3 = block_scaled<float8_e4m3fn, 128>;
using e5m2 = block_scaled<float8_e5m2, 128>;
using signed8 = dynamic_blocks<true>;
using unsigned8 = dynamic_blocks<false>;

constexpr configuration list[] = {
    {"m-bf16", "fp32", "bf16, v stochastic", "fp32", second, in<plain<bfloat16>>},
    {"m-bf16-sr", "fp32", "bf16, m and v stochastic", "fp32", both, in<plain<bfloat16>>},
    {"m-bf16-nearest", "fp32", "bf16, nearest", "fp32", nearest, in<plain<bfloat16>>},
    {"m-fp16", "fp32", "fp16 scaled, v stochastic", "fp32", second, in<scaled<float16>>},
    {"m-fp8", "fp32", "m fp8 e4m3, v fp8 e5m2, blocks of 128, v stochastic", "fp32", second,
     in<e4m3, e5m2>},
    {"m-fp8-sr", "fp32", "m fp8 e4m3, v fp8 e5m2, blocks of 128, m and v stochastic", "fp32", both,
     in<e4m3, e5m2>},
    {"m-fp8-nearest", "fp32", "m fp8 e4m3, v fp8 e5m2, blocks of 128, nearest", "fp32", nearest,
     in<e4m3, e5m2>},
    {"m-e4m3", "fp32", "fp8 e4m3, blocks of 128, v stochastic", "fp32", second, in<e4m3>},
    {"m-fp8-256", "fp32", "m fp8 e4m3, v fp8 e5m2, blocks of 256, v stochastic", "fp32", second,
     in<block_scaled<float8_e4m3fn, 256>, block_scaled<float8_e5m2, 256>>},
    {"m-fp8-tensor", "fp32", "m fp8 e4m3 scaled, v fp8 e5m2 scaled, v stochastic", "fp32", second,
     in<scaled<float8_e4m3fn>, scaled<float8_e5m2>>},
    {"m-8bit", "fp32", "8 bits of bitsandbytes, nearest", "fp32", nearest, in<signed8, unsigned8>},
    {"m-8bit-sr", "fp32", "8 bits of bitsandbytes, m and v stochastic", "fp32", both,
     in<signed8, unsigned8>},
};

}  // namespace

std::span<configuration const> moment_configurations() { return list; }

}  // namespace training
