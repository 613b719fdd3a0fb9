// SPDX-License-Identifier: Apache-2.0
// On a GPU: gradients and blocks have the bits of the processor, and reports the same counts and
// ranges. Without a GPU every test here is skipped; the same kernel's text runs in
// gradients_test.cpp and blocks_test.cpp.
#include <gtest/gtest.h>
#include <lowp/cuda/lowp.cuh>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "device_memory.hpp"
#include "support/support.hpp"

namespace {

using namespace lowp_test;

using device_gradients = on_a_gpu;

constexpr std::size_t sizes[] = {1, 7, 129, 2048, 100003};
constexpr lowp::stochastic random_bits{.seed = 1, .stream = 2, .offset = 3};

// Numbers of all magnitudes, with an infinity and a NaN among many.
template <class T>
std::vector<T> numbers(std::size_t size) {
  std::mt19937 random(static_cast<unsigned>(size));
  std::vector<float> x(size);
  for (float& each : x)
    each = std::ldexp(static_cast<float>(random() % 2000) - 999.0f,
                      static_cast<int>(random() % 40) - 30);
  if (size > 1000) {
    x[500] = INFINITY;
    x[900] = NAN;
  }
  std::vector<T> y(size);
  lowp::cast(x, y);
  return y;
}

void expect_same(lowp::gradient_report const& got, lowp::gradient_report const& want) {
  EXPECT_EQ(got.count, want.count);
  EXPECT_EQ(got.nonfinite, want.nonfinite);
  EXPECT_EQ(got.nan, want.nan);
  EXPECT_EQ(got.largest.bits, want.largest.bits);
  EXPECT_NEAR(got.squares.value(), want.squares.value(), 0x1p-47 * want.squares.value());
}

void expect_same(lowp::abs_range const& got, lowp::abs_range const& want) {
  EXPECT_EQ(std::memcmp(&got, &want, sizeof want), 0);
}

template <class T>
void expect_same_gradients() {
  for (std::size_t const size : sizes) {
    std::vector<T> g = numbers<T>(size);
    device_range<T> const there(g, size % 3);
    device_object<lowp::gradient_report> const measured;
    device_object<lowp::gradient_report> const unscaled;
    device_object<float> const inverse(1.0f / 3);
    lowp::cuda::measure(nullptr, there, measured.data());
    expect_same(measured.get(), lowp::measure(g));
    device_object<lowp::abs_range_report<lowp::float8_e4m3fn>> const range;
    lowp::cuda::abs_range_of(nullptr, there, range.data());
    expect_same(range.get(), lowp::abs_range_of<lowp::float8_e4m3fn>(g));
    lowp::gradient_report want;
    lowp::unscale(g, 1.0f / 3, want, random_bits);
    lowp::unscale(g, 0x1p-3f, want, random_bits);
    lowp::cuda::unscale(nullptr, there, static_cast<float const*>(inverse.data()), unscaled.data(),
                        random_bits);
    lowp::cuda::unscale(nullptr, there, 0x1p-3f, unscaled.data(), random_bits);
    EXPECT_TRUE(same_bits(there.read(), g));
    expect_same(unscaled.get(), want);
  }
}

TEST_F(device_gradients, of_floats) { expect_same_gradients<float>(); }
TEST_F(device_gradients, of_bfloat16) { expect_same_gradients<lowp::bfloat16>(); }
TEST_F(device_gradients, of_float16) { expect_same_gradients<lowp::float16>(); }

template <int Block, class T>
void expect_same_blocks(lowp::scale_rule rule) {
  for (std::size_t const size : sizes) {
    std::vector<float> const x = numbers<float>(size);
    std::vector<T> codes(size, T(1.0f));
    std::vector<lowp::float8_e8m0fnu> scales((size + Block - 1) / Block, lowp::float8_e8m0fnu(1));
    std::vector<float> back(size);
    device_range<float> const in(x, size % 3);
    device_range<T> const to(codes);
    device_range<lowp::float8_e8m0fnu> const to_scales(scales);
    device_range<float> const out(back);
    auto const blocks = lowp::blocks_of<Block>(std::span(to.data(), size),
                                               std::span(to_scales.data(), scales.size()));
    lowp::block_cast(x, lowp::blocks_of<Block>(codes, scales), random_bits, rule);
    lowp::block_cast(lowp::blocks_of<Block>(codes, scales), back);
    lowp::cuda::block_cast(nullptr, in, blocks, random_bits, rule);
    lowp::cuda::block_cast(nullptr, blocks, out);
    EXPECT_TRUE(same_bits(to.read(), codes));
    EXPECT_TRUE(same_bits(to_scales.read(), scales));
    EXPECT_TRUE(same_bits(out.read(), back));
  }
}

TEST_F(device_gradients, blocks_of_32) {
  expect_same_blocks<32, lowp::float8_e4m3fn>(lowp::scale_rule::rceil);
  expect_same_blocks<32, lowp::float8_e4m3fn>(lowp::scale_rule::floor);
  expect_same_blocks<32, lowp::float4_e2m1fn>(lowp::scale_rule::rceil);
}
TEST_F(device_gradients, blocks_of_256) {
  expect_same_blocks<256, lowp::float8_e5m2>(lowp::scale_rule::rceil);
}

}  // namespace
