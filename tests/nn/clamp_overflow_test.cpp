// SPDX-License-Identifier: Apache-2.0
// clamp_overflow: T5's rule, for every code and any mixture of them.
#include <gtest/gtest.h>
#include <lowp/nn.hpp>
#include <lowp/value.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "train/update/support.hpp"

namespace {

using namespace lowp_test;

// max - 1000 in double, to nearest.
template <lowp::element T>
std::uint32_t limit_code() {
  oracle::facts const f = slot_facts<T>();
  double const max = oracle_test::to_double(oracle::decode(f, f.max_code()));
  return oracle::encode(f, oracle::from(max - 1000), oracle::mode::nearest_even,
                        oracle::policy::infinity);
}

template <lowp::element T>
void expect_rule(tensor const& in) {
  oracle::facts const f = in.format;
  auto const magnitudes = static_cast<std::uint32_t>(f.magnitude_mask());
  auto const infinity = static_cast<std::uint32_t>(f.max_code()) + 1;
  std::uint32_t const limit = limit_code<T>();
  lowp::clamp_report report;
  for (std::uint32_t const code : in.codes) {
    std::uint32_t const magnitude = code & magnitudes;
    ++report.count;
    if (magnitude > infinity)
      ++report.nan;
    else if (magnitude == infinity)
      ++report.infinite;
    else if (magnitude > limit)
      ++report.beyond;
  }
  tensor want = in;
  for (std::uint32_t& code : want.codes) {
    std::uint32_t const magnitude = code & magnitudes;
    if (report.infinite == 0 || magnitude <= limit) continue;
    code = magnitude > infinity ? canonical_nan(f) : (code & ~magnitudes) | limit;
  }
  for (std::size_t const lead : {0U, 3U}) {
    guarded<T> x(in, lead);
    lowp::clamp_report const got = lowp::clamp_overflow(x.span());
    ASSERT_EQ(got.count, report.count);
    ASSERT_EQ(got.nan, report.nan);
    ASSERT_EQ(got.infinite, report.infinite);
    ASSERT_EQ(got.beyond, report.beyond);
    ASSERT_EQ(got.clamped(), report.infinite == 0 ? 0 : report.infinite + report.beyond);
    ASSERT_TRUE(x.holds(want, "x"));
  }
}

template <class T>
class clamp_overflow : public testing::Test {};
using clampable_formats = testing::Types<lowp::float16, lowp::bfloat16, lowp::float8_e5m2>;
TYPED_TEST_SUITE(clamp_overflow, clampable_formats, by_format);

TYPED_TEST(clamp_overflow, of_all_codes_with_infinity_and_without) {
  tensor all{facts<TypeParam>, {}};
  for (std::uint32_t code = 0; code < code_count<TypeParam>; ++code) all.codes.push_back(code);
  expect_rule<TypeParam>(all);
  std::uint32_t const infinity = static_cast<std::uint32_t>(facts<TypeParam>.max_code()) + 1;
  auto const sign = static_cast<std::uint32_t>(facts<TypeParam>.sign_mask());
  std::erase(all.codes, infinity);
  expect_rule<TypeParam>(all);  // one infinity is as good as two
  std::erase(all.codes, infinity | sign);
  expect_rule<TypeParam>(all);  // none: not a bit changes, of NaN neither
}

TYPED_TEST(clamp_overflow, of_corners) {
  for (std::size_t const size : {0U, 1U, 5U, 300U, 2049U})
    expect_rule<TypeParam>(random_tensor<TypeParam>(size, size, values::corners));
}
TEST(clamp_overflow_of, floats) {
  for (std::size_t const size : {0U, 1U, 5U, 300U, 2049U})
    expect_rule<float>(random_tensor<float>(size, size, values::corners));
}

// 64504 is not a float16.
TEST(clamp_overflow_of, float16_stops_at_64512) {
  EXPECT_EQ(float{lowp::clamp_limit<lowp::float16>}, 64512.0f);
  EXPECT_EQ(lowp::clamp_limit<lowp::bfloat16>, std::numeric_limits<lowp::bfloat16>::max());
  EXPECT_EQ(lowp::clamp_limit<float>, std::numeric_limits<float>::max());
  EXPECT_FALSE(lowp::clampable<lowp::float8_e4m3fn>);
  EXPECT_FALSE(lowp::clampable<lowp::float8_e3m4>);
  auto const inf = std::numeric_limits<lowp::float16>::infinity();
  std::vector<lowp::float16> x{inf, -inf, lowp::float16(65504), lowp::float16(3)};
  EXPECT_EQ(lowp::clamp_overflow(x).clamped(), 3U);
  EXPECT_EQ(x, (std::vector<lowp::float16>{lowp::float16(64512), lowp::float16(-64512),
                                           lowp::float16(64512), lowp::float16(3)}));
  EXPECT_EQ(lowp::clamp_overflow(x).clamped(), 0U);
}

}  // namespace
