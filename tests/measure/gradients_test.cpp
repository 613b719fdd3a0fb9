// SPDX-License-Identifier: Apache-2.0
// unscale, measure and clip_factor against the oracle's products and exact sums of squares.
#include <gtest/gtest.h>
#include <lowp/cast.hpp>
#include <lowp/update.hpp>
#include <lowp/value.hpp>

#include <algorithm>
#include <array>
#include <cfenv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/gradient_expectations.hpp"
#include "train/update/support.hpp"

namespace {

using namespace lowp_test;

constexpr float inf = std::numeric_limits<float>::infinity();

template <class T>
class gradients : public testing::Test {};
using gradient_formats =
    first_or_all<2, testing::Types<lowp::bfloat16, lowp::float8_e5m2, lowp::float16>>;
TYPED_TEST_SUITE(gradients, gradient_formats, by_format);

template <lowp::element T, class R>
void expect_unscaled(std::size_t size, values kind, float inverse, R const& rounding,
                     slot_mode const& mode) {
  tensor const in = random_tensor<T>(size, size, kind);
  tensor want = in;
  expected_report report;
  for (std::size_t i = 0; i < size; ++i) {
    std::uint32_t const product = oracle::f32_mul(in.value(i), float_bits(inverse));
    report.add(product);
    store(want, i, product, mode, 0, {});
  }
  for (std::size_t const lead : {0U, 3U}) {
    guarded<T> g(in, lead);
    expected_report measured;
    for (std::size_t i = 0; i < size; ++i) measured.add(in.value(i));
    expect(lowp::measure(g.span()), measured, size);
    ASSERT_TRUE(g.holds(in, "g"));
    lowp::gradient_report got;
    lowp::unscale(g.span(), inverse, got, rounding);
    ASSERT_TRUE(g.holds(want, "g"));
    expect(got, report, size);
  }
}

template <lowp::element T>
void expect_all_unscaled() {
  for (float const inverse : {1.0f, 0x1p-16f, 0x1p-100f, 1.0f / 3, 0x1p100f})
    for (values const kind : {values::corners, values::training})
      for_each_rounding<modes::two>(
          [&](auto const& rounding, slot_modes const& mode, char const* name) {
            SCOPED_TRACE(name);
            for (std::size_t const size : {0U, 1U, 5U, 300U, 1001U})
              expect_unscaled<T>(size, kind, inverse, rounding, mode.param);
          });
}

TYPED_TEST(gradients, unscaled_and_measured) { expect_all_unscaled<TypeParam>(); }
TEST(gradients_of_floats, unscaled_and_measured) { expect_all_unscaled<float>(); }

// Squares from 2^-298 to 2^256 beside each other, and sums that no double holds.
TEST(gradients_of_floats, of_all_magnitudes) {
  std::vector<float> g;
  expected_report want;
  for (int exponent = -149; exponent <= 127; ++exponent) {
    g.push_back(std::ldexp(1.0f, exponent));
    want.add(float_bits(g.back()));
    ASSERT_EQ(lowp::measure(std::span(g).last(1)).squares.value(), std::ldexp(1.0, 2 * exponent));
    ASSERT_EQ(lowp::measure(std::span(g).last(1)).norm(), std::ldexp(1.0, exponent));
    expect(lowp::measure(g), want, g.size());
  }
  g.assign(100000, std::numeric_limits<float>::max());
  EXPECT_DOUBLE_EQ(lowp::measure(g).norm(),
                   std::sqrt(100000.0) * double{std::numeric_limits<float>::max()});
}

TEST(gradients_of_floats, keep_the_bound_over_many_elements) {
  tensor const in = random_tensor<float>(1'000'003, 7, values::training, 1e-3);
  guarded<float> g(in, 0);
  expected_report want;
  for (std::uint32_t const code : in.codes) want.add(code);
  expect(lowp::measure(g.span()), want, in.size());
}

// Cut at multiples of a block, in any order: not a bit of the sums changes.
TEST(gradients_of_floats, of_shards_are_those_of_the_whole) {
  constexpr std::size_t block = 1 << 14;
  constexpr std::size_t size = 7 * block + 333;
  tensor const in = random_tensor<float>(size, 8, values::training);
  guarded<float> g(in, 1);
  lowp::gradient_report const whole = lowp::measure(g.span());
  EXPECT_EQ(whole.count, size);
  for (std::size_t const blocks : {1U, 2U, 3U, 7U}) {
    std::vector<lowp::gradient_report> parts;
    for (std::size_t first = 0; first < size; first += blocks * block)
      parts.push_back(
          lowp::measure(g.span().subspan(first, std::min(blocks * block, size - first))));
    std::reverse(parts.begin(), parts.end());
    lowp::gradient_report merged;
    for (lowp::gradient_report const& part : parts) merged += part;
    EXPECT_TRUE(same(merged, whole)) << blocks;
  }
}

TEST(gradients_of_floats, of_one_nonfinite_element_anywhere) {
  std::vector<lowp::float16> g(300, lowp::float16(2));
  for (std::size_t i = 0; i < g.size(); ++i) {
    for (float const bad : {inf, -inf, std::numeric_limits<float>::quiet_NaN()}) {
      g[i] = lowp::float16(bad);
      lowp::gradient_report report = lowp::measure(g);
      ASSERT_EQ(report.nonfinite, 1U) << i;
      ASSERT_EQ(report.squares.value(), 4.0 * 299);
      ASSERT_EQ(std::isnan(report.norm()), std::isnan(bad));
      auto unscaled = g;
      report = {};
      lowp::unscale(unscaled, 0x1p-24f, report);  // which would make any float finite
      ASSERT_EQ(report.nonfinite, 1U);
      ASSERT_FALSE(std::isfinite(float{unscaled[i]}));
    }
    g[i] = lowp::float16(2);
  }
}

TEST(gradients_of_floats, of_two_nonfinite_elements_anywhere) {
  std::vector<float> g(600, 2.0f);
  for (std::size_t const distance : {1U, 8U, 16U, 32U, 256U})
    for (std::size_t i = 0; i + distance < g.size(); ++i)
      for (float const bad : {-inf, std::numeric_limits<float>::quiet_NaN()}) {
        g[i] = inf;
        g[i + distance] = bad;
        lowp::gradient_report const report = lowp::measure(g);
        g[i] = g[i + distance] = 2.0f;
        ASSERT_EQ(report.nonfinite, 2U) << i;
        ASSERT_EQ(report.squares.value(), 4.0 * 598);
        ASSERT_EQ(std::isnan(report.norm()), std::isnan(bad));
      }
}

// Storages are read as their values.
TEST(gradients_in_storages, are_unscaled_and_measured) {
  tensor const in = random_tensor<lowp::float8_e4m3fn>(20000, 1, values::training);
  guarded<lowp::float8_e4m3fn> codes(in, 1);
  std::vector<float> x(20000);
  lowp::cast(codes.span(), x);
  for (float& each : x) each *= 0x1p-7f;
  std::span<lowp::float8_e4m3fn const> const read_only = codes.span();
  lowp::gradient_report const want = lowp::measure(x);
  EXPECT_TRUE(same(lowp::measure(lowp::scaled{read_only, 0x1p7f}), want));
  std::vector<lowp::float8_e8m0fnu> scales(20000 / 32, lowp::float8_e8m0fnu(0x1p-7f));
  EXPECT_TRUE(same(lowp::measure(lowp::blocks_of<32>(codes.span(), scales)), want));

  lowp::gradient_report unscaled;
  lowp::gradient_report expected;
  lowp::unscale(x, 0x1p-20f, expected);
  lowp::unscale(lowp::scaled{codes.span(), 0x1p7f, 0x1p27f}, 0x1p-20f, unscaled);
  EXPECT_TRUE(same(unscaled, expected));
  EXPECT_TRUE(codes.holds(in, "codes"));  // 2^-20 is in the scale

  scales.pop_back();
  try {
    static_cast<void>(lowp::measure(lowp::blocks_of<32>(codes.span(), scales)));
    FAIL() << "too few";
  } catch (std::invalid_argument const& refusal) {
    EXPECT_STREQ(refusal.what(),
                 "lowp::measure: g: 20000 elements in blocks of 32 need 625 scales, not 624");
  }
}

// Both arrays are written.
TEST(gradients_in_storages, are_refused_if_their_arrays_overlap) {
  std::vector<lowp::bfloat16> x(3, lowp::bfloat16(1));
  lowp::gradient_report report;
  try {
    lowp::unscale(lowp::kahan{x, std::span(x).first(3)}, 0.5f, report);
    FAIL() << "taken";
  } catch (std::invalid_argument const& refusal) {
    EXPECT_STREQ(refusal.what(),
                 "lowp::unscale: g (6 bytes) and g.compensation (6 bytes) overlap: "
                 "g starts 0 bytes into g.compensation");
  }
  EXPECT_EQ(x, std::vector(3, lowp::bfloat16(1)));
}

TEST(gradients_of_floats, adds_to_what_is_in_the_report) {
  std::vector<float> g(10, 3.0f);
  lowp::gradient_report report;
  lowp::unscale(g, 0.5f, report);
  lowp::unscale(g, 2.0f, report);
  EXPECT_EQ(report.count, 20U);
  EXPECT_EQ(report.largest.value(), 3.0f);
  EXPECT_EQ(report.squares.value(), 10 * 2.25 + 10 * 9.0);
}

TEST(gradients_of_floats, refuses_an_invalid_inverse_scale) {
  for (float const inverse : {0.0f, -0.0f, -1.0f, inf, -inf, float_of(0x7fc00000)}) {
    std::vector<float> g(3, 1.0f);
    lowp::gradient_report report;
    try {
      lowp::unscale(g, inverse, report);
      FAIL() << inverse;
    } catch (std::invalid_argument const& refusal) {
      EXPECT_EQ(std::string(refusal.what()).find("lowp::unscale: inverse_scale is "), 0U);
    }
    EXPECT_EQ(g, std::vector<float>(3, 1.0f));
    EXPECT_EQ(report.count, 0U);
  }
}

// Current scaling: nothing saturates, and what is not far smaller than the largest keeps its
// precision.
TEST(current_scaling, loses_nothing_to_saturation) {
  for (double const magnitude : {1e-30, 1e-8, 1.0, 1e10}) {
    tensor const in = random_tensor<float>(5000, 3, values::training, magnitude);
    guarded<float> x(in, 0);
    float const largest = lowp::measure(x.span()).largest.value();
    float const scale =
        lowp::power_of_two_scale<lowp::float8_e4m3fn>(lowp::measure(x.span()).largest);
    std::vector<lowp::float8_e4m3fn> codes(5000);
    lowp::scaled_cast(x.span(), codes, scale, lowp::nearest_even{}, lowp::overflow::infinity);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      ASSERT_TRUE(isfinite(codes[i]));
      if (std::fabs(x.span()[i]) > largest * 0x1p-14f) {
        ASSERT_NEAR(double{codes[i]} / scale, x.span()[i], std::fabs(x.span()[i]) / 16);
      }
    }
  }
}

// torch.nn.utils.clip_grad_norm_: max_norm / (norm + 1e-6), clamped to 1.
TEST(clip_factor, is_that_of_torch) {
  EXPECT_EQ(lowp::clip_factor(2.0, 1.0), static_cast<float>(1 / (2 + 1e-6)));
  EXPECT_EQ(lowp::clip_factor(1.0, 1.0), static_cast<float>(1 / (1 + 1e-6)));
  EXPECT_EQ(lowp::clip_factor(0.5, 1.0), 1.0f);
  EXPECT_EQ(lowp::clip_factor(0.0, 1.0), 1.0f);
  EXPECT_EQ(lowp::clip_factor(1e30, 0.0), 0.0f);
  EXPECT_EQ(lowp::clip_factor(3.0, double{inf}), 1.0f);
  EXPECT_EQ(lowp::clip_factor(double{inf}, 1.0), 0.0f);
  EXPECT_TRUE(std::isnan(lowp::clip_factor(std::nan(""), 1.0)));
  EXPECT_EQ(lowp::clip_factor(1.0, 1e39), 1.0f) << "no float is needed";
  for (double const wrong : {-1.0, -1e-300, -double{inf}, std::nan("")})
    EXPECT_THROW(lowp::clip_factor(1.0, wrong), std::invalid_argument) << wrong;
}

TEST(clip_factor, is_the_same_in_any_rounding_mode) {
  float const want = lowp::clip_factor(3.0, 1.0);
  for (int const mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    float const got = lowp::clip_factor(3.0, 1.0);
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(got, want);
  }
}

}  // namespace
