// SPDX-License-Identifier: Apache-2.0
// On a GPU: a kernel's threads together count as the processor does. Without a GPU every test here
// is skipped; the same kernel's text runs in report_test.cpp, list_test.cpp, census_test.cpp and
// blocks_test.cpp.
#include <gtest/gtest.h>
#include <lowp/cuda/lowp.cuh>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "device_memory.hpp"
#include "device_training.hpp"
#include "support/support.hpp"

namespace {

using namespace lowp_test;
using device_reports = on_a_gpu;

TEST_F(device_reports, amax_of_an_update) {
  trained want(100'001);
  trained_on_device const got(want);
  device_object<lowp::update_amax> const seen;
  lowp::update_amax expected;
  lowp::update(want.p, want.g, want.m, want.v, lowp::adamw{}, 1, lowp::stochastic{4}, expected);
  lowp::cuda::update(nullptr, got.p, got.g, got.m, got.v, lowp::adamw{}, 1, lowp::stochastic{4},
                     seen.data());
  EXPECT_TRUE(got.equals(want));
  lowp::update_amax const there = seen.get();
  EXPECT_EQ(std::memcmp(&there, &expected, sizeof there), 0);
}

// More tiles than blocks, so that a block adds to the reports of two tensors.
TEST_F(device_reports, list_of_tensors) {
  constexpr std::size_t large = 4'300'001;
  std::vector<trained> want;
  std::vector<std::unique_ptr<trained_on_device>> tensors;
  std::vector<lowp::cuda::adamw_tensor<lowp::bfloat16, lowp::bfloat16, float, float>> list;
  for (std::size_t i = 0; i < 700; ++i) {
    want.emplace_back(i % 9 == 4 ? 0 : i == 30 ? large : 1 + i * 37 % 5000);
    tensors.push_back(std::make_unique<trained_on_device>(want.back(), i % 5));
    trained_on_device const& t = *tensors.back();
    list.push_back(
        {lowp::cuda::view(t.p.data(), t.p.size()), lowp::cuda::view(t.g.data(), t.g.size()),
         lowp::cuda::view(t.m.data(), t.m.size()), lowp::cuda::view(t.v.data(), t.v.size())});
  }
  device_range<lowp::update_report> const reports(std::vector<lowp::update_report>(list.size()));
  lowp::cuda::update(nullptr, list, lowp::adamw{}, 3, lowp::stochastic{6},
                     std::span(reports.data(), reports.size()));
  auto const seen = reports.read();
  for (std::size_t i = 0; i < want.size(); ++i) {
    lowp::update_report expected;
    want[i].step(3, lowp::stochastic{6, lowp::stream_of(static_cast<std::uint32_t>(i), 0)},
                 expected);
    ASSERT_TRUE(tensors[i]->equals(want[i])) << i;
    expect_same(seen[i], expected);
  }
}

// Numbers of all magnitudes, with an infinity and a NaN among many.
std::vector<float> numbers(std::size_t size) {
  std::mt19937 random(static_cast<unsigned>(size));
  std::vector<float> x(size);
  for (float& each : x)
    each = std::ldexp(static_cast<float>(random() % 2000) - 999.0f,
                      static_cast<int>(random() % 24) - 20);
  if (size > 1000) {
    x[300] = INFINITY;
    x[900] = NAN;
  }
  return x;
}

TEST_F(device_reports, census_and_sums) {
  for (std::size_t const size : {1U, 9U, 5000U, 100'003U}) {
    SCOPED_TRACE(size);
    std::vector<float> const x = numbers(size);
    device_range<float> const in(x, size % 3);
    device_object<lowp::census_report<lowp::float8_e4m3fn>> const counted;
    lowp::cuda::census(nullptr, in, counted.data());
    lowp::range_census const got = counted.get();
    lowp::range_census const want = lowp::census<lowp::float8_e4m3fn>(x);
    EXPECT_EQ(got.count, want.count);
    EXPECT_EQ(got.nan, want.nan);
    EXPECT_EQ(got.infinite, want.infinite);
    EXPECT_EQ(got.overflow, want.overflow);
    EXPECT_EQ(got.subnormal, want.subnormal);
    EXPECT_EQ(got.flushed, want.flushed);
    EXPECT_EQ(got.max_abs.bits, want.max_abs.bits);
    EXPECT_EQ(got.min_abs.below_infinity, want.min_abs.below_infinity);
    EXPECT_EQ(got.max_relative_error.bits, want.max_relative_error.bits);
    EXPECT_EQ(std::memcmp(&got.exponents, &want.exponents, sizeof want.exponents), 0);
    double const squared = want.squared_error.value();
    EXPECT_NEAR(got.squared_error.value(), squared, 2e-6 * squared);

    device_object<lowp::sum_report> const added;
    lowp::cuda::sum(nullptr, in, added.data());
    lowp::sum_report sum;
    lowp::sum(x, sum);
    EXPECT_EQ(added.get().nan, sum.nan);
  }
}

// A block's threads find its scale together, and read the last one before it is written.
TEST_F(device_reports, moments_in_blocks) {
  constexpr std::size_t size = 20'003, blocks = (size + 127) / 128;
  trained want(size);
  std::vector<lowp::float8_e4m3fn> m(size, lowp::float8_e4m3fn(0)), v = m;
  std::vector<lowp::float8_e8m0fnu> ms(blocks, lowp::float8_e8m0fnu(1)), vs = ms;
  trained_on_device const got(want);
  device_range<lowp::float8_e4m3fn> const there_m(m), there_v(v);
  device_range<lowp::float8_e8m0fnu> const there_ms(ms), there_vs(vs);
  lowp::stochastic const rounding{.seed = 1, .stream = 2, .offset = 3};
  auto const there = [&](auto const& codes, auto const& scales) {
    return lowp::blocks_of<128>(std::span(codes.data(), size), std::span(scales.data(), blocks));
  };
  for (std::uint64_t step = 1; step <= 3; ++step) {
    lowp::update(want.p, want.g, lowp::blocks_of<128>(m, ms), lowp::blocks_of<128>(v, vs),
                 lowp::adamw{}, step, rounding);
    lowp::cuda::update(nullptr, got.p, got.g, there(there_m, there_ms), there(there_v, there_vs),
                       lowp::adamw{}, step, rounding);
  }
  EXPECT_TRUE(got.equals(want));
  EXPECT_TRUE(same_bits(there_m.read(), m));
  EXPECT_TRUE(same_bits(there_v.read(), v));
  EXPECT_TRUE(same_bits(there_ms.read(), ms));
  EXPECT_TRUE(same_bits(there_vs.read(), vs));
}

}  // namespace
