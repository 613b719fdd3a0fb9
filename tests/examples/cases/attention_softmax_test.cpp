// SPDX-License-Identifier: Apache-2.0
#include "cases/attention_softmax.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace {

TEST(AttentionSoftmaxCase, OnlyFloatInsideHoldsForEveryHead) {
  cases::attention_softmax const found = cases::run_attention_softmax();
  ASSERT_EQ(found.heads.size(), 7U);
  std::size_t const last = found.heads.size() - 1;
  EXPECT_GT(found.heads[last].largest_score, 1e7 * found.heads[0].largest_score);

  for (std::size_t i = 0; i <= last; ++i) {
    cases::attention_head const& h = found.heads[i];
    // A row has 128 probabilities; each is rounded by at most 2^-11 of it, or half of 2^-24.
    EXPECT_EQ(h.wide.lost, 0) << i;
    EXPECT_LT(h.wide.misplaced, 0x1p-12 + 64 * 0x1p-25 + 1e-6) << i;
    EXPECT_EQ(h.relaxed.lost, 0) << i;
    EXPECT_EQ(h.scaled.lost, 0) << i;
    EXPECT_EQ(h.pure.lost > 0, i == last) << i;
    if (i != last) {
      EXPECT_GE(h.relaxed.misplaced, h.wide.misplaced) << i;
      EXPECT_GE(h.pure.misplaced, h.wide.misplaced) << i;
    }
  }
  EXPECT_GT(found.heads[last].pure.lost, 0.9);
  // Scores near 2^14 are 16 apart in float16: the two largest of a row can become one.
  EXPECT_GT(found.heads[5].relaxed.misplaced, 0.01);
  EXPECT_GT(found.heads[5].scaled.misplaced, 0.01);

  EXPECT_NE(found.warning.find("\nattention.head.6 ("), std::string::npos) << found.warning;
  EXPECT_NE(found.warning.find(" beyond 65504"), std::string::npos) << found.warning;
}

}  // namespace
