// SPDX-License-Identifier: Apache-2.0
// A walk through the public functions. Every unit that takes it, whatever its compiler and flags,
// must come back with the same bytes. Nothing here computes in floating point but the library.
#pragma once
#include <lowp/lowp.hpp>

#include <bit>
#include <cstdint>
#include <vector>

namespace {

class diary {
 public:
  template <class T>
  void note(const T& value) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof value);
  }
  template <class T>
  void note(const std::vector<T>& values) {
    for (const T& value : values) note(value);
  }
  void note(const lowp::gradient_report& report) {
    note(report.count);
    note(report.nonfinite);
    note(report.largest.bits);
  }
  void note(const lowp::update_report& report) {
    note(report.count);
    note(report.stalled);
    note(report.overflowed);
    note(report.nonfinite);
  }
  std::vector<unsigned char> bytes() const { return bytes_; }

 private:
  std::vector<unsigned char> bytes_;
};

// Values of either sign below 1, half of them tiny, with an infinity and a NaN among them.
inline std::vector<float> tour_numbers(std::uint32_t seed) {
  std::vector<float> numbers(101);
  for (std::uint32_t i = 0; i < numbers.size(); ++i) {
    const auto words = lowp::philox4x32({i, 0, 0, 0}, {seed, 0});
    const std::uint32_t exponent = (i % 2 ? 126U : 113U) - words[1] % 8;
    numbers[i] = std::bit_cast<float>((words[0] & 0x807fffffU) | exponent << 23);
  }
  numbers[7] = std::bit_cast<float>(0x7f800000U);
  numbers[8] = std::bit_cast<float>(0x7fc00000U);
  return numbers;
}

inline void tour_of_values(diary& diary) {
  const std::vector<float> x = tour_numbers(1);
  const std::vector<float> g = tour_numbers(2);
  std::vector<lowp::bfloat16> p(x.size());

  lowp::cast(x, p);
  diary.note(p);
  lowp::cast(x, p, lowp::stochastic{.seed = 3, .stream = 4, .offset = 5});
  diary.note(p);
  std::vector<float> back(p.size());
  lowp::cast(p, back);
  diary.note(back);

  lowp::update_report report{};
  lowp::fused_add(p, -0.125f, g, lowp::to_odd{}, report);
  diary.note(p);
  diary.note(report);

  for (const lowp::bfloat16 value : p) {
    diary.note(value * lowp::bfloat16(3) + value / lowp::bfloat16(7) - lowp::bfloat16(0.5f));
    const std::uint64_t bits = 0x3fe0'0000'0000'0000U + (std::uint64_t{value.bits()} << 37);
    diary.note(lowp::convert<lowp::float16>(std::bit_cast<double>(bits), lowp::nearest_away{}));
    diary.note(lowp::ulp(value));
  }
}

inline void tour_of_scales(diary& diary) {
  std::vector<float> x = tour_numbers(5);
  std::vector<lowp::float8_e4m3fn> codes(x.size());
  std::vector<lowp::float8_e8m0fnu> scales(4);
  for (const auto rule : {lowp::scale_rule::rceil, lowp::scale_rule::floor}) {
    lowp::block_cast(x, lowp::blocks_of<32>(codes, scales), lowp::stochastic{.seed = 6}, rule);
    diary.note(codes);
    diary.note(scales);
  }
  std::vector<float> back(x.size());
  lowp::block_cast(lowp::blocks_of<32>(codes, scales), back);
  diary.note(back);

  lowp::loss_scaler scaler{.scale = 3, .growth_factor = 1.7, .growth_interval = 1};
  lowp::gradient_report report;
  diary.note(lowp::measure(x));
  lowp::unscale(std::vector{lowp::named{"x", x}}, scaler, report);
  diary.note(x);
  diary.note(report);
  scaler.update();
  diary.note(scaler.scale);
  scaler.update();
  diary.note(scaler.scale);
  std::vector<float> y(300, 0.7f);
  diary.note(lowp::clip(std::vector{lowp::named{"y", y}}, 1.5));
  diary.note(y);
  lowp::delayed_scale<lowp::float16, 4> delayed;
  delayed.update(lowp::measure(y).largest);
  diary.note(delayed.scale);
  diary.note(lowp::clip_factor(3, 1));

  std::vector<lowp::bfloat16> p(y.size(), lowp::bfloat16(1.0f));
  lowp::update_report added;
  lowp::tree_add(std::vector{lowp::named{"p", p}}, 0.1f, std::vector{lowp::named{"", y}},
                 lowp::stochastic{.seed = 8}, added);
  diary.note(p);
  diary.note(added);
}

inline void tour_of_storages(diary& diary) {
  const std::vector<float> g = tour_numbers(7);
  const std::size_t n = g.size();
  std::vector<lowp::bfloat16> value(n, lowp::bfloat16(1)), rest(n), high(n);
  std::vector<float> weights(n, 1.0f), m(n), v(n), joined(n);
  std::vector<lowp::float16> codes(n, lowp::float16(1));
  std::vector<std::uint16_t> low(n);
  const lowp::stochastic random{.seed = 12};
  lowp::update_report report;
  lowp::split(weights, high, low);
  lowp::update(lowp::kahan{value, rest}, g, m, v, lowp::adamw{}, 1, random, report);
  lowp::update(lowp::master{weights, value}, g, m, v, lowp::adamw{}, 2, random, report);
  lowp::update(lowp::split_master{high, low}, g, m, v, lowp::adamw{}, 3, random, report);
  lowp::update(lowp::scaled{codes, 4.0f, 2.0f}, g, m, v, lowp::adamw{}, 4, random, report);
  lowp::join(high, low, joined);
  diary.note(value);
  diary.note(rest);
  diary.note(weights);
  diary.note(high);
  diary.note(joined);
  diary.note(codes);
  diary.note(report);

  std::vector<lowp::float16> second(n);
  std::vector<lowp::float8_e4m3fn> gradient(n), first(n, lowp::float8_e4m3fn(0));
  lowp::fp8_lm tensor{codes, gradient, first, second};
  tensor.store_weights(weights);
  tensor.store_gradient(std::vector<float>(n, 0.25f));
  tensor.update(lowp::adamw{}, 1, random, report);
  diary.note(codes);
  diary.note(first);
  diary.note(second);
  diary.note(tensor.weight_scale);
#if !defined(__CUDACC__)  // as nvcc's host compiler clang takes gigabytes for these
  diary.note(lowp::stall_advice(g, {.lr = 1e-5}).choice);
  diary.note(lowp::census<lowp::float8_e4m3fn>(weights).overflow);
  diary.note(lowp::abs_range_of<lowp::float8_e4m3fn>(weights).max_abs.bits);
#endif
}

inline void tour_of_pieces(diary& diary) {
  const std::vector<float> x = tour_numbers(8);
  std::vector<lowp::float16> half(x.size());
  std::vector<lowp::bfloat16> y(x.size());
  lowp::scaling_report scaling;
  lowp::scale_by_power_of_two(x, half, 12, scaling);
  diary.note(half);
  diary.note(scaling.inexact);
  diary.note(lowp::clamp_overflow(half).infinite);
  lowp::gated_gelu_tanh(half, x, y);
  diary.note(y);
  std::vector<float> z(x.size());
  lowp::layer_norm(half, y, y, z, x.size(), 1e-6f);
  diary.note(z);
  diary.note(lowp::mask_value<lowp::float16>);
  lowp::sum_report sum;
  lowp::dot(x, half, sum);
  diary.note(sum.nan);
}

inline LOWP_OPAQUE std::vector<unsigned char> tour() {
  diary diary;
  tour_of_values(diary);
  tour_of_scales(diary);
  tour_of_storages(diary);
#if !defined(__CUDACC__)
  tour_of_pieces(diary);
#endif
  return diary.bytes();
}

}  // namespace
