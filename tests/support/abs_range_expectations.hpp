// SPDX-License-Identifier: Apache-2.0
// The right abs_range: magnitudes compared as doubles, overflow as the oracle rounds.
#pragma once

#include <gtest/gtest.h>
#include <lowp/measure.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "oracle/support.hpp"
#include "train/update/support.hpp"

namespace lowp_test {

template <lowp::element To>
lowp::abs_range expected_abs_range(tensor const& x) {
  lowp::abs_range want;
  double least = std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    ++want.count;
    double const a = std::fabs(double{float_of(x.value(i))});
    if (std::isnan(a)) {
      ++want.nan;
      continue;
    }
    least = std::min(least, a);
    largest = std::max(largest, a);
    bool overflows = false;
    if (std::isinf(a))
      ++want.infinite;
    else
      oracle::encode(slot_facts<To>(), oracle::from(a), oracle::mode::nearest_even,
                     oracle::policy::infinity, 0, &overflows);
    if (overflows) ++want.overflow;
  }
  want.max_abs.bits = float_bits(static_cast<float>(largest));
  want.min_abs.below_infinity = 0x7f800000U - float_bits(static_cast<float>(least));
  return want;
}

inline void expect(lowp::abs_range const& got, lowp::abs_range const& want) {
  EXPECT_EQ(got.count, want.count);
  EXPECT_EQ(got.nan, want.nan);
  EXPECT_EQ(got.infinite, want.infinite);
  EXPECT_EQ(got.overflow, want.overflow);
  EXPECT_EQ(got.max_abs.bits, want.max_abs.bits);
  EXPECT_EQ(float_bits(got.min_abs.value()), float_bits(want.min_abs.value()));
  EXPECT_EQ(got.is_sound(), want.nan + want.infinite + want.overflow == 0);
}

}  // namespace lowp_test
