// SPDX-License-Identifier: Apache-2.0
// Weights and moments in less than fp32.
#include "fp8_lm_tensor.hpp"
#include "stored_model.hpp"

namespace training {

namespace {

using lowp::bfloat16, lowp::float8_e4m3fn, lowp::float8_e5m2;

constexpr rounded stochastic = rounded::stochastic;
constexpr roundings nearest{}, second{.second = stochastic},
    param{.param = stochastic, .second = stochastic}, all{stochastic, stochastic, stochastic};

template <class P, class M, class V = M, class G = plain<float>>
constexpr auto in = store<adamw, P, G, M, V>;

using bf16 = plain<bfloat16>;
using bf16_kahan = kahan<bfloat16, bfloat16>;
using split8 = split_master<bfloat16, std::uint8_t>;
using e4m3 = block_scaled<float8_e4m3fn, 128>;
using e5m2 = block_scaled<float8_e5m2, 128>;

constexpr std::string_view fp8_moments = "m fp8 e4m3, v fp8 e5m2, blocks of 128, v stochastic";

constexpr configuration list[] = {
    {"bf16+bf16-nearest", "bf16 nearest", "bf16, nearest", "fp32", nearest, in<bf16, bf16>},
    {"bf16-sr+bf16", "bf16 stochastic", "bf16, v stochastic", "fp32", param, in<bf16, bf16>},
    {"bf16-sr+bf16+bf16", "bf16 stochastic", "bf16, v stochastic", "bf16", param,
     in<bf16, bf16, bf16, bf16>},
    {"bf16-kahan+bf16", "bf16 Kahan, compensation bf16", "bf16, v stochastic", "fp32", second,
     in<bf16_kahan, bf16>},
    {"bf16-kahan-sr+bf16", "bf16 Kahan, compensation bf16 stochastic", "bf16, v stochastic", "fp32",
     param, in<bf16_kahan, bf16>},
    {"split8-sr+bf16", "bf16 + 8 bits, stochastic", "bf16, v stochastic", "fp32", param,
     in<split8, bf16>},
    {"bf16-sr+fp8", "bf16 stochastic", fp8_moments, "fp32", param, in<bf16, e4m3, e5m2>},
    {"bf16-sr+8bit", "bf16 stochastic", "8 bits of bitsandbytes, m and v stochastic", "fp32", all,
     in<bf16, dynamic_blocks<true>, dynamic_blocks<false>>},
    {"bf16-kahan-sr+fp8", "bf16 Kahan, compensation bf16 stochastic", fp8_moments, "fp32", param,
     in<bf16_kahan, e4m3, e5m2>},
    {"split8-sr+fp8", "bf16 + 8 bits, stochastic", fp8_moments, "fp32", param,
     in<split8, e4m3, e5m2>},
    {"fp8-lm", "fp16 scaled, nearest", "m fp8 e4m3 scaled, v fp16 scaled, v stochastic",
     "fp8 e4m3 scaled", second, store_in<fp8_lm_tensor>},
    {"fp8-lm-sr", "fp16 scaled, stochastic", "m fp8 e4m3 scaled, v fp16 scaled, both stochastic",
     "fp8 e4m3 scaled", all, store_in<fp8_lm_tensor>},
};

}  // namespace

std::span<configuration const> small_configurations() { return list; }

}  // namespace training
