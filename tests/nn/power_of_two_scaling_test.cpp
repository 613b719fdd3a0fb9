// SPDX-License-Identifier: Apache-2.0
// scale_by_power_of_two against the oracle, with its report of losses, and the choice of an
// exponent. A projection scaled this way is to the bit what more exponents would give.
#include <gtest/gtest.h>
#include <lowp/nn.hpp>
#include <lowp/value.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

#include "support/refusals.hpp"
#include "train/update/support.hpp"

namespace {

using namespace lowp_test;

// x * 2^k as an exact number.
oracle::number scaled(oracle::number const& x, int k) {
  oracle::number y = x;
  y.exponent += k;
  return y;
}

template <lowp::element From, lowp::element To>
void expect_oracle(tensor const& in, int k) {
  tensor want{slot_facts<To>(), in.codes};
  lowp::scaling_report report;
  for (std::size_t i = 0; i < in.size(); ++i) {
    oracle::number const x = oracle::decode(in.format, in.codes[i]);
    oracle::number const exact = scaled(x, k);
    // A float on the way is the same as the exact number unless it is subnormal or too large.
    std::uint32_t const product = oracle::encode(
        oracle::binary32, exact, oracle::mode::nearest_even, oracle::policy::infinity);
    store(want, i, x.what == oracle::kind::nan ? 0x7fc00000U : product, {}, 0, {});
    ++report.count;
    if (x.what != oracle::kind::finite) continue;
    bool too_large = false;
    static_cast<void>(oracle::encode(want.format, oracle::from_float_bits(product),
                                     oracle::mode::nearest_even, oracle::policy::infinity, 0,
                                     &too_large));
    if (too_large || (product & 0x7fffffffU) == 0x7f800000U) {
      ++report.overflowed;
    } else {
      double const there =
          std::ldexp(oracle_test::to_double(oracle::decode(want.format, want.codes[i])), -k);
      report.inexact += there == oracle_test::to_double(x) ? 0 : 1;
    }
  }
  for (std::size_t const lead : {0U, 3U}) {
    guarded<From> from(in, lead);
    guarded<To> to(want, 1);
    for (To& x : to.span()) x = slot_value<To>(1);
    lowp::scaling_report got;
    lowp::scale_by_power_of_two(from.span(), to.span(), k, got);
    ASSERT_TRUE(to.holds(want, "out")) << k;
    ASSERT_EQ(got.count, report.count) << k;
    ASSERT_EQ(got.overflowed, report.overflowed) << k;
    ASSERT_EQ(got.inexact, report.inexact) << k;
    for (To& x : to.span()) x = slot_value<To>(1);
    lowp::scale_by_power_of_two(from.span(), to.span(), k);
    ASSERT_TRUE(to.holds(want, "out")) << k;
  }
}

constexpr std::array exponents{-126, -100, -24, -9, -3, -1, 0, 1, 2, 8, 15, 24, 126};

template <lowp::narrow From, lowp::element To>
void expect_all_codes() {
  tensor all{facts<From>, {}};
  for (std::uint32_t code = 0; code < code_count<From>; ++code) all.codes.push_back(code);
  for (int const k : exponents) expect_oracle<From, To>(all, k);
}

TEST(power_of_two_scaling, of_all_codes) {
  expect_all_codes<lowp::float16, lowp::float16>();
  expect_all_codes<lowp::float16, float>();
  expect_all_codes<lowp::bfloat16, lowp::bfloat16>();
  expect_all_codes<lowp::float8_e5m2, lowp::float8_e4m3fn>();
}

TEST(power_of_two_scaling, of_floats) {
  for (int const k : exponents)
    for (std::size_t const size : {0U, 1U, 5U, 300U, 5001U}) {
      expect_oracle<float, float>(random_tensor<float>(size, size, values::corners), k);
      expect_oracle<float, lowp::float16>(random_tensor<float>(size, size, values::corners), k);
    }
}

// There and back is the identity wherever the report says so.
TEST(power_of_two_scaling, lossless_means_that_scaling_back_gives_every_bit) {
  for (std::uint32_t code = 0; code < 0x7c00; ++code) {
    std::vector<lowp::float16> const x{of_code<lowp::float16>(code)};
    for (int const k : {-11, -1, 3, 20}) {
      std::vector<lowp::float16> there(1);
      std::vector<lowp::float16> back(1);
      lowp::scaling_report report;
      lowp::scale_by_power_of_two(x, there, k, report);
      lowp::scale_by_power_of_two(there, back, -k);
      ASSERT_EQ(report.lossless(), back[0].bits() == x[0].bits()) << code << " " << k;
    }
  }
}

TEST(projection_exponent, is_the_least_that_leaves_the_head_room) {
  for (int const headroom : {0, 1, 3})
    for (float largest = 0x1p-20f; largest < 0x1p100f; largest *= 1.37f) {
      int const k =
          lowp::projection_exponent<lowp::float16>(lowp::amax{float_bits(largest)}, headroom);
      double const limit = std::ldexp(65504.0, -headroom);
      ASSERT_LE(std::ldexp(double{largest}, -k), limit);
      if (k != 0) {
        ASSERT_GT(std::ldexp(double{largest}, 1 - k), limit);
      }
    }
  auto const of = [](float largest, int headroom) {
    return lowp::projection_exponent<lowp::float16>(lowp::amax{float_bits(largest)}, headroom);
  };
  EXPECT_EQ(of(65504, 0), 0);
  EXPECT_EQ(of(65505, 0), 1);
  EXPECT_EQ(of(0, 1), 0);
  EXPECT_EQ(of(std::numeric_limits<float>::infinity(), 1), 0);
  expect_refusal([&] { of(std::numeric_limits<float>::quiet_NaN(), 1); },
                 "lowp::projection_exponent: largest is NaN, of which no scale can be made");
}

// A row of W x in a narrow type: products and sums rounded, one after another.
template <class T>
T dot(std::span<T const> w, std::span<T const> x) {
  T sum(0);
  for (std::size_t i = 0; i < w.size(); ++i) sum += w[i] * x[i];
  return sum;
}

// The range of float16, and the same precision with twice as many exponents.
using tight = lowp::basic_float<lowp::format{5, 9, 15}>;
using roomy = lowp::basic_float<lowp::format{6, 9, 31}>;

TEST(power_of_two_scaling, of_a_projection_is_what_more_exponents_would_give) {
  constexpr std::size_t n = 64;
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  std::vector<roomy> w(n * n);
  std::vector<roomy> x(n);
  for (roomy& each : w) each = roomy(20 * normal(random));
  for (roomy& each : x) each = roomy(500 * normal(random));
  std::vector<tight> tight_w(n * n);
  std::vector<tight> tight_x(n);
  lowp::cast(w, tight_w);
  lowp::cast(x, tight_x);

  std::vector<roomy> want(n);
  lowp::amax largest;
  std::size_t overflows = 0;
  auto const row = [](auto const& matrix, std::size_t i) {
    return std::span(matrix).subspan(i * n, n);
  };
  for (std::size_t i = 0; i < n; ++i) {
    want[i] = dot<roomy>(row(w, i), x);
    largest += lowp::amax{float_bits(float{want[i]}) & 0x7fffffffU};
    overflows += isfinite(dot<tight>(row(tight_w, i), tight_x)) ? 0 : 1;
  }
  ASSERT_GT(overflows, n / 10);  // it does overflow

  int const k = lowp::projection_exponent<tight>(largest, 1);
  EXPECT_GT(k, 0);
  lowp::scaling_report lost;
  std::vector<tight> small(n);
  std::vector<tight> y(n);
  lowp::scale_by_power_of_two(tight_x, small, -k, lost);
  ASSERT_TRUE(lost.lossless());
  for (std::size_t i = 0; i < n; ++i) y[i] = dot<tight>(row(tight_w, i), small);
  std::vector<roomy> out(n);
  lowp::scale_by_power_of_two(y, out, k);
  EXPECT_EQ(out, want);
}

TEST(power_of_two_scaling, refuses) {
  std::vector<float> x(4);
  std::vector<lowp::float16> y(3);
  expect_refusal([&] { lowp::scale_by_power_of_two(x, y, 2); },
                 "lowp::scale_by_power_of_two: sizes differ: in has 4, out has 3");
  expect_refusal([&] { lowp::scale_by_power_of_two(x, x, -127); },
                 "lowp::scale_by_power_of_two: exponent is -127, not in [-126, 126]");
}

}  // namespace
