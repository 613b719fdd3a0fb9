// SPDX-License-Identifier: Apache-2.0
#include "cases/stall.hpp"

#include <gtest/gtest.h>

namespace {

TEST(StallCase, NearestDropsWhatIsBelowHalfAGapAndStochasticDoesNot) {
  cases::stall const found = cases::find_stall();
  ASSERT_EQ(found.runs.size(), 4u);
  EXPECT_NEAR(found.median, 0.0129, 0.0129 / 256);
  EXPECT_EQ(found.half_gap, 0x1p-15);

  cases::stall_run const &small = found.runs[0], &small_stochastic = found.runs[1],
                         &large = found.runs[2], &large_stochastic = found.runs[3];
  // 5e-7 is half a gap at 2^-12 and below: 1 % of a normal distribution with that median.
  EXPECT_NEAR(small.moved, 0.01, 0.005);
  EXPECT_LT(small.applied, 0.02);
  // 1.6e-5 is half a gap below 2^-7: a third of the weights.
  EXPECT_NEAR(large.moved, 0.317, 0.01);
  EXPECT_LT(large.applied, 0.45);

  EXPECT_NEAR(small_stochastic.applied, 1, 0.02);
  EXPECT_GT(small_stochastic.moved, 0.5);
  EXPECT_NEAR(large_stochastic.applied, 1, 0.005);
  EXPECT_GT(large_stochastic.moved, 0.999);

  for (std::size_t k = 0; k < cases::magnitude_classes; ++k) {
    int const exponent = cases::least_exponent + static_cast<int>(k);
    bool const is_last = k + 1 == cases::magnitude_classes;
    // In the class [2^e, 2^(e+1)) half a gap is 2^(e-8).
    auto const expect = [&](cases::stall_run const& nearest) {
      if (nearest.rate > std::ldexp(1.0, exponent - 8))
        EXPECT_GT(nearest.by_magnitude[k], 0.9) << exponent << " " << nearest.rate;
      else
        EXPECT_LT(nearest.by_magnitude[k], 0.01) << exponent << " " << nearest.rate;
    };
    expect(small);
    expect(large);
    EXPECT_NEAR(small_stochastic.by_magnitude[k], 1, is_last ? 0.1 : 0.03) << exponent;
    EXPECT_NEAR(large_stochastic.by_magnitude[k], 1, 0.01) << exponent;
  }
  EXPECT_NEAR(found.rate_for_half, found.half_gap, 2e-6);
}

TEST(stall, second_moment_decays_if_it_is_rounded_stochastically) {
  cases::stall const found = cases::find_stall();
  cases::moment_run const &nearest = found.moments[0], &stochastic = found.moments[1],
                          &wide = found.moments[2];
  EXPECT_EQ(nearest.stalled, 1);
  EXPECT_EQ(nearest.mean, 1);
  EXPECT_NEAR(nearest.bias / (1 - lowp::adamw{}.beta2), 1, 0.02);
  EXPECT_NEAR(stochastic.mean, found.exact_moment, 0.01);
  EXPECT_NEAR(stochastic.bias, 0, 1e-5);
  EXPECT_NEAR(wide.mean, found.exact_moment, 1e-3);
}

}  // namespace
