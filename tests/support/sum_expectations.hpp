// SPDX-License-Identifier: Apache-2.0
// The right sum_report: sums of products of floats, exactly, in schoolbook limbs.
#pragma once

#include <gtest/gtest.h>
#include <lowp/measure/reports.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "oracle/exact.hpp"
#include "support.hpp"

namespace lowp_test {

// Digits of 32 bits that carry only in the end, in units of 2^-298.
class product_sum {
 public:
  void add(oracle::number const& a, oracle::number const& b, bool negative) {
    auto const product = static_cast<std::uint64_t>(a.significand * b.significand);  // < 2^48
    auto const shift = static_cast<std::size_t>(a.exponent + b.exponent + 298);
    std::uint64_t const low = (product & 0xffffffffU) << (shift % 32);
    std::uint64_t const high = (product >> 32) << (shift % 32);
    std::array<std::uint64_t, 3> const digits{low & 0xffffffffU, (low >> 32) + (high & 0xffffffffU),
                                              high >> 32};
    for (std::size_t i = 0; i < digits.size(); ++i)
      digit_[shift / 32 + i] +=
          negative ? -static_cast<std::int64_t>(digits[i]) : static_cast<std::int64_t>(digits[i]);
  }
  // In the precision of long double.
  [[nodiscard]] long double value() const {
    auto digit = digit_;
    std::int64_t carry = 0;
    auto const normalize = [&] {
      carry = 0;
      for (std::int64_t& each : digit) {
        std::int64_t const sum = each + carry;
        each = sum & 0xffffffff;
        carry = sum >> 32;
      }
    };
    normalize();
    bool const negative = carry < 0;
    if (negative) {
      for (std::int64_t& each : digit) each = -each;
      normalize();
    }
    long double sum = 0;
    for (std::size_t i = 0; i < digit.size(); ++i)
      sum += std::ldexp(static_cast<long double>(digit[i]), 32 * static_cast<int>(i) - 298);
    return negative ? -sum : sum;
  }

 private:
  std::array<std::int64_t, 28> digit_{};
};

// The right report on these products of floats.
struct expected_sum {
  std::uint64_t count = 0;
  std::uint64_t nan = 0;
  std::uint64_t rising = 0;
  std::uint64_t falling = 0;
  product_sum sum;
  product_sum magnitudes;

  void add(std::uint32_t a_bits, std::uint32_t b_bits) {
    using oracle::kind;
    oracle::number const a = oracle::from_float_bits(a_bits);
    oracle::number const b = oracle::from_float_bits(b_bits);
    bool const negative = a.negative != b.negative;
    bool const infinite = a.what == kind::infinity || b.what == kind::infinity;
    ++count;
    if (a.what == kind::nan || b.what == kind::nan ||
        (infinite && (a.what == kind::zero || b.what == kind::zero)))
      ++nan;
    else if (infinite)
      ++(negative ? falling : rising);
    else if (a.what == kind::finite && b.what == kind::finite) {
      sum.add(a, b, negative);
      magnitudes.add(a, b, false);
    }
  }
};

inline void expect(lowp::sum_report const& got, expected_sum const& want) {
  EXPECT_EQ(got.count, want.count);
  EXPECT_EQ(got.nan, want.nan);
  EXPECT_EQ(got.positive_infinite, want.rising);
  EXPECT_EQ(got.negative_infinite, want.falling);
  long double const sum = want.sum.value();
  long double const bound = 0x1p-48L * want.magnitudes.value();
  EXPECT_LE(std::fabs(got.finite.value() - sum), bound);
  if (want.nan != 0 || (want.rising != 0 && want.falling != 0) || want.count == 0) {
    EXPECT_TRUE(std::isnan(got.mean()));
    EXPECT_EQ(std::isnan(got.value()), want.count != 0);
  } else if (want.rising != 0 || want.falling != 0) {
    double const infinity = std::numeric_limits<double>::infinity();
    EXPECT_EQ(got.value(), want.rising != 0 ? infinity : -infinity);
    EXPECT_EQ(got.mean(), got.value());
  } else {
    EXPECT_EQ(got.value(), got.finite.value());
    auto const count = static_cast<long double>(want.count);
    EXPECT_LE(std::fabs(got.mean() - sum / count),
              bound / count + 0x1p-52L * std::fabs(sum / count));
  }
}

// To the last bit.
inline bool same(lowp::sum_report const& a, lowp::sum_report const& b) {
  return a.count == b.count && a.nan == b.nan && a.positive_infinite == b.positive_infinite &&
         a.negative_infinite == b.negative_infinite &&
         std::memcmp(&a.finite, &b.finite, sizeof a.finite) == 0;
}

}  // namespace lowp_test
