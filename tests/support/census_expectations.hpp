// SPDX-License-Identifier: Apache-2.0
// The right census: each element rounded by the oracle, errors in exact arithmetic.
#pragma once

#include <gtest/gtest.h>
#include <lowp/measure.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "gradient_expectations.hpp"
#include "oracle/support.hpp"
#include "train/update/support.hpp"

namespace lowp_test {

struct expected_census {
  oracle::facts to;
  std::uint64_t count = 0, nan = 0, infinite = 0, overflow = 0, subnormal = 0, flushed = 0;
  float max_abs = 0;
  float min_abs = std::numeric_limits<float>::infinity();
  float max_relative_error = 0;
  square_sum squares{};
  std::map<int, std::uint64_t> exponents{};

  // The bits of an element as a float.
  void add(std::uint32_t bits) {
    ++count;
    double const x = std::fabs(double{float_of(bits)});
    if (std::isnan(x)) {
      ++nan;
    } else if (std::isinf(x)) {
      ++infinite;
    } else if (x != 0) {
      add_finite(x);
    }
  }

 private:
  void add_finite(double x) {
    auto const as_float = static_cast<float>(x);
    max_abs = std::max(max_abs, as_float);
    min_abs = std::min(min_abs, as_float);
    ++exponents[std::max(std::ilogb(x), -127)];
    bool overflows = false;
    std::uint32_t const code = oracle::encode(to, oracle::from(x), oracle::mode::nearest_even,
                                              oracle::policy::infinity, 0, &overflows);
    if (overflows) {
      ++overflow;
      return;
    }
    double const rounded = value_of(to, code);
    if (rounded == 0)
      ++flushed;
    else if (rounded < to.min_normal)
      ++subnormal;
    double const error = std::fabs(rounded - x);  // all of these are exact
    squares.add(float_bits(static_cast<float>(error)));
    auto quotient = static_cast<float>(error / x);  // the products below are exact too
    while (double{quotient} * x > error) quotient = std::nextafter(quotient, 0.0f);
    while (double{quotient} * x < error) quotient = std::nextafter(quotient, 2.0f);
    max_relative_error = std::max(max_relative_error, quotient);
  }
};

inline void expect(lowp::range_census const& got, expected_census const& want) {
  EXPECT_EQ(got.count, want.count);
  EXPECT_EQ(got.nan, want.nan);
  EXPECT_EQ(got.infinite, want.infinite);
  EXPECT_EQ(got.overflow, want.overflow);
  EXPECT_EQ(got.subnormal, want.subnormal);
  EXPECT_EQ(got.flushed, want.flushed);
  EXPECT_EQ(got.max_abs.bits, float_bits(want.max_abs));
  EXPECT_EQ(float_bits(got.min_abs.value()), float_bits(want.min_abs));
  EXPECT_EQ(got.max_relative_error.bits, float_bits(want.max_relative_error));
  long double const sum = want.squares.value();
  EXPECT_LE(std::fabs(got.squared_error.value() - sum), 1e-6L * sum);
  std::uint64_t const kept = want.count - want.nan - want.infinite - want.overflow;
  EXPECT_EQ(got.kept(), kept);
  long double const mean = kept == 0 ? 0 : sum / static_cast<long double>(kept);
  EXPECT_LE(std::fabs(got.mean_square_error() - mean), 1e-6L * mean);
  std::uint64_t finite = 0;
  for (int e = -127; e <= 127; ++e) {
    auto const at = want.exponents.find(e);
    std::uint64_t const many = at == want.exponents.end() ? 0 : at->second;
    finite += many;
    EXPECT_EQ(got.exponents[e], many) << "of exponent " << e;
  }
  EXPECT_EQ(got.zeros(), want.count - want.nan - want.infinite - finite);
}

// Compares to the last bit, except sums: these are accurate.
inline bool same(lowp::range_census const& a, lowp::range_census const& b) {
  auto const facts = [](lowp::range_census const& c) {
    return std::tuple(c.count, c.nan, c.infinite, c.overflow, c.subnormal, c.flushed,
                      c.max_abs.bits, c.min_abs.below_infinity, c.max_relative_error.bits);
  };
  double const sum = a.squared_error.value();
  return facts(a) == facts(b) && std::ranges::equal(a.exponents.counts, b.exponents.counts) &&
         std::fabs(b.squared_error.value() - sum) <= 2e-6 * sum;
}

template <lowp::element To>
expected_census expected_of(tensor const& x) {
  expected_census want{slot_facts<To>()};
  for (std::size_t i = 0; i < x.size(); ++i) want.add(x.value(i));
  return want;
}

// Groups of 256 floats of one binade each, from the smallest subnormal ones to the largest.
inline tensor groups_of_magnitudes() {
  std::mt19937_64 random(3);
  std::vector<std::uint32_t> bits;
  for (int i = 0; i < 256; ++i) bits.push_back(static_cast<std::uint32_t>(random() & 0x80000003U));
  for (std::uint32_t const field : {0U, 1U, 23U, 60U, 82U, 100U, 127U, 150U, 200U, 250U})
    for (int i = 0; i < 256; ++i)
      bits.push_back(field << 23 | static_cast<std::uint32_t>(random() & 0x807fffffU));
  return {oracle::binary32, bits};
}

}  // namespace lowp_test
