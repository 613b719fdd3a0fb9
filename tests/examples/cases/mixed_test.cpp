// SPDX-License-Identifier: Apache-2.0
#include "cases/mixed.hpp"

#include <gtest/gtest.h>

namespace {

TEST(MixedCase, ThreeSetUpsLearnWhatFp32LearnsAndNearestDoesNot) {
  auto const runs = cases::run_mixed(LOWP_DEFAULT_TEXT);
  ASSERT_EQ(runs.size(), 5u);
  double const fp32 = runs[0].held_out;
  for (std::size_t i = 1; i <= 3; ++i) {
    EXPECT_NEAR(runs[i].held_out, fp32, 0.01) << runs[i].name;
    EXPECT_NEAR(runs[i].applied, 1, 0.01) << runs[i].name;
  }
  EXPECT_EQ(runs[1].held_out, runs[2].held_out);  // the same weights, cast now or before
  EXPECT_GT(runs[4].held_out, fp32 + 0.1);
  EXPECT_LT(runs[4].applied, 0.75);

  // Weights, copy, gradient and two moments; what a layer in use needs on top.
  std::size_t const bytes[] = {16, 16, 18, 14, 14}, scratch[] = {0, 2, 0, 0, 0};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(runs[i].bytes, bytes[i]) << runs[i].name;
    EXPECT_EQ(runs[i].scratch, scratch[i]) << runs[i].name;
  }
}

}  // namespace
