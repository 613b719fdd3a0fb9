// SPDX-License-Identifier: Apache-2.0
#include "stored_model.hpp"

namespace training {

namespace {

using lowp::bfloat16, lowp::float16;

constexpr rounded nearest = rounded::nearest, stochastic = rounded::stochastic;

template <class P, class M, class V>
constexpr auto in = store<plain<P>, plain<float>, plain<M>, plain<V>>;

constexpr configuration list[] = {
    {"fp32", "fp32", "fp32", "fp32", {}, in<float, float, float>},
    {"bf16", "bf16 nearest", "fp32", "fp32", {}, in<bfloat16, float, float>},
    {"bf16-sr", "bf16 stochastic", "fp32", "fp32", {stochastic}, in<bfloat16, float, float>},
    {"fp16", "fp16 nearest", "fp32", "fp32", {}, in<float16, float, float>},
    {"fp16-sr", "fp16 stochastic", "fp32", "fp32", {stochastic}, in<float16, float, float>},
    {"fp32+bf16",
     "fp32",
     "bf16",
     "fp32",
     {nearest, nearest, stochastic},
     in<float, bfloat16, bfloat16>},
    {"bf16-sr+bf16",
     "bf16 stochastic",
     "bf16",
     "fp32",
     {stochastic, nearest, stochastic},
     in<bfloat16, bfloat16, bfloat16>},
    {"bf16+bf16-nearest",
     "bf16 nearest",
     "bf16, both nearest",
     "fp32",
     {},
     in<bfloat16, bfloat16, bfloat16>},
};

}  // namespace

std::span<configuration const> plain_configurations() { return list; }

}  // namespace training
