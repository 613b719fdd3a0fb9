// SPDX-License-Identifier: Apache-2.0
#include "cases/gaps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace {

TEST(GapsCase, GapsAreTheFormatsGrid) {
  for (cases::gap_row const& row : cases::find_gaps().rows) {
    int const exponent = std::ilogb(row.magnitude);
    EXPECT_EQ(row.bfloat16_gap, std::ldexp(1.0f, exponent - 7)) << row.magnitude;
    if (exponent > 15)
      EXPECT_TRUE(std::isnan(row.float16_gap)) << row.magnitude;
    else
      EXPECT_EQ(row.float16_gap, std::ldexp(1.0f, std::max(exponent - 10, -24))) << row.magnitude;
  }
}

TEST(GapsCase, TheStoriesAreTrue) {
  cases::gaps const found = cases::find_gaps();
  // 283 lies halfway between 282 and 284, whose code is even; 2840 halfway between 2832 and 2848.
  EXPECT_EQ(found.product, 2848);
  EXPECT_EQ(found.bfloat16_stuck, 256);
  EXPECT_EQ(found.float16_stuck, 2048);
  EXPECT_EQ(found.float16_end, 16);
}

}  // namespace
