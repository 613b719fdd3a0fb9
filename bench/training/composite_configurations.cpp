// SPDX-License-Identifier: Apache-2.0
// Weights in two arrays, or with a scale; moments in fp32.
#include "stored_model.hpp"

namespace training {

namespace {

using lowp::bfloat16, lowp::float16, lowp::float8_e4m3fn;

constexpr roundings nearest{}, stochastic{.param = rounded::stochastic};

template <class P>
constexpr auto in = store<adamw, P, plain<float>, plain<float>, plain<float>>;

constexpr configuration list[] = {
    {"bf16-kahan", "bf16 Kahan, compensation bf16", "fp32", "fp32", nearest,
     in<kahan<bfloat16, bfloat16>>},
    {"bf16-kahan-sr", "bf16 Kahan, compensation bf16 stochastic", "fp32", "fp32", stochastic,
     in<kahan<bfloat16, bfloat16>>},
    {"master", "fp32 master, bf16 copy", "fp32", "fp32", nearest, in<master<float, bfloat16>>},
    {"split16", "bf16 + 16 bits", "fp32", "fp32", nearest,
     in<split_master<bfloat16, std::uint16_t>>},
    {"split8", "bf16 + 8 bits, nearest", "fp32", "fp32", nearest,
     in<split_master<bfloat16, std::uint8_t>>},
    {"split8-sr", "bf16 + 8 bits, stochastic", "fp32", "fp32", stochastic,
     in<split_master<bfloat16, std::uint8_t>>},
    {"fp8", "fp8 e4m3 scaled, nearest", "fp32", "fp32", nearest, in<scaled<float8_e4m3fn>>},
    {"fp8-sr", "fp8 e4m3 scaled, stochastic", "fp32", "fp32", stochastic,
     in<scaled<float8_e4m3fn>>},
};

}  // namespace

std::span<configuration const> composite_configurations() { return list; }

}  // namespace training
