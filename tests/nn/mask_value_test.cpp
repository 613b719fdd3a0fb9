// SPDX-License-Identifier: Apache-2.0
// mask_value in each format. No score of a quarter of the range takes it out of range.
#include <gtest/gtest.h>
#include <lowp/nn.hpp>
#include <lowp/value.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "oracle/support.hpp"
#include "support/support.hpp"

namespace {

using namespace lowp_test;

template <class T>
class mask_value : public testing::Test {};
using formats_with_room = testing::Types<lowp::float16, lowp::bfloat16, lowp::float8_e5m2,
                                         lowp::float8_e4m3fn, user_e6m9>;
TYPED_TEST_SUITE(mask_value, formats_with_room, by_format);

// The next code away from zero is beyond -3/4.
TYPED_TEST(mask_value, is_three_quarters_of_the_range_rounded_toward_zero) {
  double const largest = value_of(facts<TypeParam>, facts<TypeParam>.max_code());
  constexpr TypeParam mask = lowp::mask_value<TypeParam>;
  double const value = value_of(facts<TypeParam>, mask.bits());
  EXPECT_GE(value, -0.75 * largest);
  EXPECT_LT(value_of(facts<TypeParam>, mask.bits() + 1U), -0.75 * largest);
}

// In the format's own addition, in float's, and twice.
TYPED_TEST(mask_value, has_room_for_any_score_of_a_quarter_of_the_range) {
  double const quarter = value_of(facts<TypeParam>, facts<TypeParam>.max_code()) / 4;
  TypeParam const mask = lowp::mask_value<TypeParam>;
  std::uint32_t scores = 0;
  for (std::uint32_t code = 0; code < code_count<TypeParam>; ++code) {
    auto const score = of_code<TypeParam>(code);
    if (!(std::fabs(double{score}) <= quarter)) continue;
    ++scores;
    TypeParam const sum = score + mask;
    ASSERT_TRUE(isfinite(sum)) << shown(score);
    ASSERT_LE(double{sum}, -1.5 * quarter) << shown(score);
    ASSERT_LT(std::exp(double{sum} - -quarter), 0x1p-24) << shown(score);  // beside any other score
  }
  EXPECT_GT(scores, code_count<TypeParam> / 2);
}

// Masked and not, the unmasked score being the smallest there may be.
TYPED_TEST(mask_value, has_no_share_in_softmax_beside_an_unmasked_score) {
  double const quarter = value_of(facts<TypeParam>, facts<TypeParam>.max_code()) / 4;
  std::vector<TypeParam> scores;
  for (std::uint32_t code = 0; code < code_count<TypeParam>; ++code) {
    auto const score = of_code<TypeParam>(code);
    if (!(std::fabs(double{score}) <= quarter)) continue;
    scores.push_back(score + lowp::mask_value<TypeParam>);
    scores.push_back(lowp::convert<TypeParam>(-quarter, lowp::toward_zero{}));
  }
  std::vector<TypeParam> shares(scores.size());
  lowp::softmax(scores, shares, 2);
  for (std::size_t i = 0; i < shares.size(); i += 2) {
    ASSERT_EQ(double{shares[i]}, 0.0) << shown(scores[i]);
    ASSERT_EQ(double{shares[i + 1]}, 1.0);
  }
}

TEST(mask_values, of_the_usual_formats) {
  EXPECT_EQ(float{lowp::mask_value<lowp::float16>}, -49120.0f);
  EXPECT_EQ(float{lowp::mask_value<lowp::bfloat16>}, -0x1.7ep127f);
  EXPECT_EQ(lowp::mask_value<float>, -0x1.7ffffep127f);
  constexpr float max = std::numeric_limits<float>::max();
  EXPECT_GE(double{lowp::mask_value<float>}, -0.75 * max);
  EXPECT_LT(double{std::nextafter(lowp::mask_value<float>, -max)}, -0.75 * max);
  EXPECT_TRUE(std::isfinite(lowp::mask_value<float> - max / 4));
  EXPECT_FALSE(lowp::maskable<lowp::float8_e3m4>);  // no further than 15.5
  EXPECT_FALSE(lowp::maskable<lowp::float8_e8m0fnu>);
}

// Why not the smallest finite value.
TEST(mask_values, the_smallest_finite_value_has_no_room) {
  auto const smallest = std::numeric_limits<lowp::float16>::lowest();
  EXPECT_TRUE(isfinite(smallest - lowp::float16(15)));
  EXPECT_TRUE(isinf(smallest - lowp::float16(16)));
}

}  // namespace
