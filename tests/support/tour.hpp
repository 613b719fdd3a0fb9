// SPDX-License-Identifier: Apache-2.0
// A walk through the public functions. Every unit that takes it, whatever its compiler and flags,
// must come back with the same fingerprint. Only the library computes in floating point here.
#pragma once
#include <lowp/lowp.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fingerprint.hpp"

namespace {

inline void tour_of_values(fingerprint& f) {
  std::vector<float> const x = numbers(1, 101);
  std::vector<float> const g = numbers(2, 101);
  std::vector<lowp::bfloat16> p(x.size());

  lowp::cast(x, p);
  f.note(p);
  lowp::cast(x, p, lowp::stochastic{.seed = 3, .stream = 4, .offset = 5});
  f.note(p);
  std::vector<float> back(p.size());
  lowp::cast(p, back);
  f.note(back);

  lowp::update_report report{};
  lowp::fused_add(p, -0.125f, g, lowp::to_odd{}, report);
  lowp::update(p, g, back, lowp::sgd{.lr = 0.1, .momentum = 0.9, .nesterov = true}, 2,
               lowp::per_slot{.param = lowp::stochastic{.seed = 9}}, report);
  f.note(p);
  f.note(report);

  for (lowp::bfloat16 const value : p) {
    f.note(value * lowp::bfloat16(3) + value / lowp::bfloat16(7) - lowp::bfloat16(0.5f));
    std::uint64_t const bits = 0x3fe0'0000'0000'0000U + (std::uint64_t{value.bits()} << 37);
    f.note(lowp::convert<lowp::float16>(std::bit_cast<double>(bits), lowp::nearest_away{}));
    f.note(lowp::ulp(value));
  }
}

inline void tour_of_scales(fingerprint& f) {
  std::vector<float> x = numbers(5, 101);
  std::vector<lowp::float8_e4m3fn> codes(x.size());
  std::vector<lowp::float8_e8m0fnu> scales(4);
  for (auto const rule : {lowp::scale_rule::rceil, lowp::scale_rule::floor}) {
    lowp::block_cast(x, lowp::blocks_of<32>(codes, scales), lowp::stochastic{.seed = 6}, rule);
    f.note(codes);
    f.note(scales);
  }
  std::vector<float> back(x.size());
  lowp::block_cast(lowp::blocks_of<32>(codes, scales), back);
  f.note(back);

  lowp::loss_scaler scaler{.scale = 3, .growth_factor = 1.7, .growth_interval = 1};
  lowp::gradient_report report;
  f.note(lowp::measure(x));
  lowp::unscale(std::vector{lowp::named{"x", x}}, scaler, report);
  f.note(x);
  f.note(report);
  scaler.update();
  f.note(scaler.scale);
  scaler.update();
  f.note(scaler.scale);
  std::vector<float> y(300, 0.7f);
  f.note(lowp::clip(std::vector{lowp::named{"y", y}}, 1.5));
  f.note(y);
  lowp::delayed_scale<lowp::float16, 4> delayed;
  delayed.update(lowp::measure(y).largest);
  f.note(delayed.scale);
  f.note(lowp::clip_factor(3, 1));

  std::vector<lowp::bfloat16> p(y.size(), lowp::bfloat16(1.0f));
  lowp::update_report added;
  lowp::tree_add(std::vector{lowp::named{"p", p}}, 0.1f, std::vector{lowp::named{"", y}},
                 lowp::stochastic{.seed = 8}, added);
  f.note(p);
  f.note(added);
}

inline void tour_of_storages(fingerprint& f) {
  std::vector<float> const g = numbers(7, 101);
  std::size_t const n = g.size();
  std::vector<lowp::bfloat16> value(n, lowp::bfloat16(1)), rest(n), high(n);
  std::vector<float> weights(n, 1.0f), m(n), v(n), joined(n);
  std::vector<lowp::float16> codes(n, lowp::float16(1));
  std::vector<std::uint16_t> low(n);
  lowp::stochastic const random{.seed = 12};
  lowp::update_report report;
  lowp::split(weights, high, low);
  lowp::update(lowp::kahan{value, rest}, g, m, v, lowp::adamw{}, 1, random, report);
  lowp::update(lowp::master{weights, value}, g, m, v, lowp::adamw{}, 2, random, report);
  lowp::update(lowp::split_master{high, low}, g, m, v, lowp::adamw{}, 3, random, report);
  lowp::update(lowp::scaled{codes, 4.0f, 2.0f}, g, m, v, lowp::adamw{}, 4, random, report);
  lowp::join(high, low, joined);
  f.note(value);
  f.note(rest);
  f.note(weights);
  f.note(high);
  f.note(joined);
  f.note(codes);
  f.note(report);

  std::vector<lowp::float16> second(n);
  std::vector<lowp::float8_e4m3fn> gradient(n), first(n, lowp::float8_e4m3fn(0));
  lowp::scaled_cast(weights, codes, 0x1p15f);
  lowp::scaled_cast(std::vector<float>(n, 0.25f), gradient, 0x1p10f);
  lowp::update(lowp::scaled{codes, 0x1p15f, 0x1p15f}, lowp::scaled{gradient, 0x1p10f},
               lowp::scaled{first, 1, 0x1p14f}, lowp::scaled{second, 1, 0x1p29f}, lowp::adamw{}, 1,
               random, lowp::overflow::saturate, report);
  f.note(codes);
  f.note(first);
  f.note(second);
  f.note(0x1p15f);
#if !defined(__CUDACC__)  // as nvcc's host compiler clang takes gigabytes for these
  f.note(lowp::stall_advice(g, {.lr = 1e-5}).choice);
  f.note(lowp::census<lowp::float8_e4m3fn>(weights).overflow);
  f.note(lowp::abs_range_of<lowp::float8_e4m3fn>(weights).max_abs.bits);
#endif
}

// Five rows, in the first of which infinity and NaN are; then scores that e takes to subnormals.
inline void tour_of_rows(fingerprint& f) {
  std::vector<float> x = numbers(13, 100);
  std::vector<lowp::bfloat16> p(x.size());
  lowp::softmax(x, p, 20);
  f.note(p);
  lowp::scale_mask_softmax(x, lowp::causal_mask{5}, x, 20, 123.0f);
  f.note(x);
}

inline void tour_of_pieces(fingerprint& f) {
  std::vector<float> const x = numbers(8, 101);
  std::vector<lowp::float16> half(x.size());
  std::vector<lowp::bfloat16> y(x.size());
  lowp::scaling_report scaling;
  lowp::scale_by_power_of_two(x, half, 12, scaling);
  f.note(half);
  f.note(scaling.inexact);
  f.note(lowp::clamp_overflow(half).infinite);
  lowp::gated_gelu_tanh(half, x, y);
  f.note(y);
  std::vector<float> z(x.size());
  lowp::layer_norm(half, y, y, z, x.size(), 1e-6f);
  f.note(z);
  f.note(lowp::mask_value<lowp::float16>);
  lowp::sum_report sum;
  lowp::dot(x, half, sum);
  f.note(sum.nan);
}

inline LOWP_OPAQUE void tour(fingerprint& f) {
  tour_of_values(f);
  tour_of_scales(f);
  tour_of_storages(f);
  tour_of_rows(f);
#if !defined(__CUDACC__)
  tour_of_pieces(f);
#endif
}

}  // namespace
