// SPDX-License-Identifier: Apache-2.0
// Weights in one array, moments in fp32.
#include "stored_model.hpp"

namespace training {

namespace {

using lowp::bfloat16, lowp::float16;

constexpr roundings nearest{}, stochastic{.param = rounded::stochastic};

template <class T>
constexpr auto in = store<adamw, plain<T>, plain<float>, plain<float>, plain<float>>;

constexpr configuration list[] = {
    {"fp32", "fp32", "fp32", "fp32", nearest, in<float>},
    {"bf16", "bf16 nearest", "fp32", "fp32", nearest, in<bfloat16>},
    {"bf16-sr", "bf16 stochastic", "fp32", "fp32", stochastic, in<bfloat16>},
    {"fp16", "fp16 nearest", "fp32", "fp32", nearest, in<float16>},
    {"fp16-sr", "fp16 stochastic", "fp32", "fp32", stochastic, in<float16>},
};

}  // namespace

std::span<configuration const> plain_configurations() { return list; }

}  // namespace training
