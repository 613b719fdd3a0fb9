// SPDX-License-Identifier: Apache-2.0
// The right report on gradients, with an exact sum of squares.
#pragma once

#include <gtest/gtest.h>
#include <lowp/measure/reports.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lowp_test {

// Schoolbook addition of 32-bit limbs.
class square_sum {
 public:
  // Bits of a finite float.
  void add(std::uint32_t bits) {
    std::uint32_t const field = bits >> 23 & 0xff;
    std::uint64_t const significand =
        field == 0 ? bits & 0x7fffffU : (bits & 0x7fffffU) | 0x800000U;
    std::size_t const shift =
        2 * (field == 0 ? 0 : field - 1);              // of the square, in units of 2^-298
    std::uint64_t square = significand * significand;  // below 2^48
    std::size_t at = shift / 32;
    std::uint64_t const low = (square & 0xffffffffU) << (shift % 32);
    std::uint64_t const high = (square >> 32) << (shift % 32);
    std::uint64_t carry = 0;
    for (std::uint64_t const part :
         {low & 0xffffffffU, (low >> 32) + (high & 0xffffffffU), high >> 32}) {
      std::uint64_t const sum = limb_[at] + part + carry;
      limb_[at++] = static_cast<std::uint32_t>(sum);
      carry = sum >> 32;
    }
    for (; carry != 0; ++at) carry = ++limb_[at] == 0 ? 1 : 0;
  }
  // In the precision of long double.
  [[nodiscard]] long double value() const {
    long double sum = 0;
    for (std::size_t i = 0; i < limb_.size(); ++i)
      sum += std::ldexp(static_cast<long double>(limb_[i]), 32 * static_cast<int>(i) - 298);
    return sum;
  }

 private:
  std::array<std::uint32_t, 24> limb_{};
};

// The right report on these values of floats.
struct expected_report {
  std::uint64_t nonfinite = 0, nan = 0;
  std::uint32_t largest = 0;
  square_sum squares;

  void add(std::uint32_t bits) {
    std::uint32_t const magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U)
      ++nan;
    else
      largest = std::max(largest, magnitude);
    if (magnitude >= 0x7f800000U)
      ++nonfinite;
    else
      squares.add(bits);
  }
};

inline void expect(lowp::gradient_report const& got, expected_report const& want,
                   std::size_t count) {
  EXPECT_EQ(got.count, count);
  EXPECT_EQ(got.nonfinite, want.nonfinite);
  EXPECT_EQ(got.nan, want.nan);
  EXPECT_EQ(got.largest.bits, want.largest);
  long double const sum = want.squares.value();
  EXPECT_LE(std::fabs(got.squares.value() - sum), 0x1p-48L * sum);
  if (want.nonfinite == 0) {
    EXPECT_LE(std::fabs(got.norm() - std::sqrt(sum)), 0x1p-48L * std::sqrt(sum));
  } else if (want.nan != 0) {
    EXPECT_TRUE(std::isnan(got.norm()));
  } else {
    EXPECT_EQ(got.norm(), double{__builtin_inff()});
  }
}

// To the last bit.
inline bool same(lowp::gradient_report const& a, lowp::gradient_report const& b) {
  return a.count == b.count && a.nonfinite == b.nonfinite && a.nan == b.nan &&
         a.largest.bits == b.largest.bits &&
         std::memcmp(&a.squares, &b.squares, sizeof a.squares) == 0;
}

}  // namespace lowp_test
