// SPDX-License-Identifier: Apache-2.0
// Micro-batches of small gradients on top of a large one: what each way to keep the sum loses.
#include <gtest/gtest.h>
#include <lowp/fused_add.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using lowp::bfloat16;

constexpr std::size_t elements = 4096;
constexpr int micro_batches = 64;
// Less than half the gap of bfloat16 at a sum near 1, which is 2^-7.
constexpr float gradient = 0x1.8p-10f;
constexpr double total = 1 + micro_batches * double{gradient};

template <class Sum, class Rounding>
void accumulate(Sum&& sum, Rounding const& rounding_of) {
  std::vector<float> const g(elements, gradient);
  for (std::uint64_t i = 0; i < micro_batches; ++i) lowp::fused_add(sum, 1.0f, g, rounding_of(i));
}
constexpr auto nearest = [](std::uint64_t) { return lowp::nearest_even{}; };

TEST(accumulation, in_float_is_exact) {
  std::vector<float> sum(elements, 1.0f);
  accumulate(sum, nearest);
  for (float const x : sum) ASSERT_EQ(double{x}, total);
}

TEST(accumulation, in_bfloat16_to_nearest_sticks) {
  std::vector<bfloat16> sum(elements, bfloat16(1.0f));
  accumulate(sum, nearest);
  for (bfloat16 const x : sum) ASSERT_EQ(float{x}, 1.0f);
}

// A sum goes up by a gap with probability 3/16, or stays: 64 times, independently. Its mean over
// all elements has a standard deviation of sqrt(64 * 3/16 * 13/16 / 4096) gaps.
TEST(accumulation, in_bfloat16_stochastically_is_unbiased) {
  std::vector<bfloat16> sum(elements, bfloat16(1.0f));
  accumulate(sum, [](std::uint64_t i) {
    return lowp::stochastic{.seed = 11, .stream = lowp::stream_of(0, i)};
  });
  double mean = 0;
  double least = 2;
  double most = 1;
  for (bfloat16 const x : sum) {
    mean += double{x} / elements;
    least = std::min(least, double{x});
    most = std::max(most, double{x});
  }
  double const deviation = std::sqrt(64 * (3.0 / 16) * (13.0 / 16) / elements) * 0x1p-7;
  EXPECT_NEAR(mean, total, 5 * deviation);
  EXPECT_LT(least, total - 0x1p-7);
  EXPECT_GT(most, total + 0x1p-7);
}

// The compensation is at most half a gap of the value, 2^-8, and is rounded to within 2^-17 each
// time.
TEST(accumulation, in_kahan_keeps_its_bound) {
  for (float const g : {gradient, 0.0011f, 0.00037f, -0.0002f}) {
    std::vector<bfloat16> value(elements, bfloat16(1.0f));
    std::vector<bfloat16> compensation(elements, bfloat16(0.0f));
    std::vector<float> const gradients(elements, g);
    for (int i = 0; i < micro_batches; ++i)
      lowp::fused_add(lowp::kahan{value, compensation}, 1.0f, gradients);
    double const want = 1 + micro_batches * double{g};
    for (std::size_t i = 0; i < elements; ++i) {
      ASSERT_NEAR(double{value[i]} + double{compensation[i]}, want, micro_batches * 0x1p-17);
      ASSERT_NEAR(double{value[i]}, want, 0x1p-8 + micro_batches * 0x1p-17);
    }
  }
}

// Up to 256 equal gradients of one bit sum exactly in bfloat16 from zero on: an earlier sum drowns
// the rest.
TEST(accumulation, from_zero_of_equal_powers_of_two_is_exact) {
  std::vector<bfloat16> sum(elements, bfloat16(0.0f));
  std::vector<float> const g(elements, 0x1p-10f);
  for (int i = 0; i < micro_batches; ++i) lowp::fused_add(sum, 1.0f, g);
  for (bfloat16 const x : sum) ASSERT_EQ(float{x}, micro_batches * 0x1p-10f);
}

}  // namespace
