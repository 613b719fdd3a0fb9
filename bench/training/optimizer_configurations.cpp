// SPDX-License-Identifier: Apache-2.0
// SGD and Lion, whose reference is their own with all in fp32.
#include "stored_model.hpp"

namespace training {

namespace {

constexpr roundings nearest{}, all{.param = rounded::stochastic, .first = rounded::stochastic};
constexpr double rate_of_sgd = 20, rate_of_lion = .2;
constexpr lowp::sgd sgd{.lr = 1, .momentum = .9};
constexpr lowp::lion lion{.weight_decay = .01 / rate_of_lion};  // decays as much as AdamW

template <auto const& Optimizer, class P, class M = P>
constexpr auto in = store<Optimizer, P, plain<float>, M>;

using bf16 = plain<lowp::bfloat16>;

constexpr configuration list[] = {
    {"sgd", "fp32", "fp32, SGD", "fp32", nearest, in<sgd, plain<float>>, rate_of_sgd},
    {"sgd-bf16", "bf16 nearest", "bf16, SGD, nearest", "fp32", nearest, in<sgd, bf16>, rate_of_sgd},
    {"sgd-bf16-sr", "bf16 stochastic", "bf16, SGD, stochastic", "fp32", all, in<sgd, bf16>,
     rate_of_sgd},
    {"lion", "fp32", "fp32, Lion", "fp32", nearest, in<lion, plain<float>>, rate_of_lion},
    {"lion-bf16", "bf16 nearest", "bf16, Lion, nearest", "fp32", nearest, in<lion, bf16>,
     rate_of_lion},
    {"lion-bf16-sr", "bf16 stochastic", "bf16, Lion, stochastic", "fp32", all, in<lion, bf16>,
     rate_of_lion},
    {"lion-bf16-sr+8bit", "bf16 stochastic", "8 bits of bitsandbytes, Lion, stochastic", "fp32",
     all, in<lion, bf16, dynamic_blocks<true>>, rate_of_lion},
};

}  // namespace

std::span<configuration const> optimizer_configurations() { return list; }

}  // namespace training
