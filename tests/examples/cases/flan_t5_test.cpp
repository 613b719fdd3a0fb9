// SPDX-License-Identifier: Apache-2.0
#include "cases/flan_t5.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

namespace {

using cases::flan_t5::attempt;
using cases::flan_t5::site;

// Loss at a place; a place that is gone lost nothing.
double lost_at(site const& s) { return s.lost.value_or(0); }

TEST(FlanT5Case, OverflowsInFourPlacesAndEachCureLeavesTheNext) {
  cases::flan_t5_case const c = cases::run_flan_t5();
  for (std::size_t b = 0; b < c.deviation.size(); ++b) {
    EXPECT_NEAR(c.deviation[b], 4400, 4400 * 0.005);
    EXPECT_GT(c.largest[b], 65504);
    EXPECT_EQ(c.exponent[b], 3);
    EXPECT_NEAR(std::ldexp(c.deviation[b], -c.exponent[b]), 550, 550 * 0.005);
  }

  ASSERT_EQ(c.attempts.size(), 5U);
  char const* const found[] = {"block.0.layer.0.SelfAttention.scores",
                               "block.0.layer.1.DenseReluDense.act",
                               "block.0.layer.1.DenseReluDense.wo", "block.0.layer.1.residual"};
  for (std::size_t i = 0; i < 4; ++i) {
    attempt const& a = c.attempts[i];
    ASSERT_TRUE(a.first.has_value()) << a.name;
    EXPECT_EQ(a.first->name, found[i]) << a.name;
    EXPECT_EQ(a.first->tensor, "output") << a.name;  // made there, not brought in
    EXPECT_EQ(a.first->trouble, lowp::watch_trouble::infinite) << a.name;
    EXPECT_GT(a.lost, 0.5) << a.name;  // only all four of them help
    auto const first = std::ranges::find_if(a.sites, [](site const& s) { return lost_at(s) > 0; });
    EXPECT_EQ(first->name, found[i]) << a.name;
    if (i < 2) continue;
    EXPECT_LT(lost_at(*first), 0.001) << a.name;  // and attention spreads it
    EXPECT_NEAR(lost_at(a.sites.back()), 2.0 / 3, 0.01) << a.name;
  }
  // A sequence of nothing but padding is NaN if the mask has no head-room.
  EXPECT_GT(c.attempts[0].padding_lost, c.attempts[1].padding_lost + 0.2);

  attempt const& cured = c.attempts.back();
  EXPECT_FALSE(cured.first.has_value());
  EXPECT_EQ(cured.lost, 0);
  EXPECT_EQ(cured.padding_lost, 0);
  for (attempt const* each : {&cured, &c.bf16})
    for (site const& s : each->sites) EXPECT_EQ(lost_at(s), 0) << s.name;
  std::size_t const act = 6;
  EXPECT_TRUE(c.attempts[1].sites[act].lost.has_value());
  EXPECT_FALSE(c.attempts[2].sites[act].lost.has_value());
  EXPECT_EQ(cured.scaling.overflowed, 0U);
  EXPECT_FALSE(c.bf16.first.has_value());
  EXPECT_EQ(c.bf16.lost, 0);
  EXPECT_GT(cured.error, 0);
  EXPECT_LT(cured.error, c.bf16.error / 4);
  EXPECT_LT(c.bf16.error, 0.1);
  // Factors of the product are scaled down. Only numbers that GELU made subnormal, or nearly, lose
  // bits.
  for (std::size_t b = 0; b < c.deviation.size(); ++b)
    EXPECT_NEAR(cured.deviation[b], 550, 550 * 0.01);
  EXPECT_LT(cured.inexact(), 0.05);
}

}  // namespace
