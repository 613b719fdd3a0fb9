// SPDX-License-Identifier: Apache-2.0
// PB-Relax step by step in the oracle's roundings, and what it is for: scores that 16 bits cannot
// hold.
#include <lowp/nn.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "support/row_support.hpp"

namespace {

using namespace lowp_test;

template <class T>
class pb_relax : public testing::Test {};
using sixteen_bits = testing::Types<lowp::bfloat16, lowp::float16>;
TYPED_TEST_SUITE(pb_relax, sixteen_bits, by_format);

// The number of T nearest to x.
template <class T>
double rounded(double x) {
  return value_of(
      facts<T>, oracle::encode(facts<T>, oracle::from_double_bits(std::bit_cast<std::uint64_t>(x)),
                               oracle::mode::nearest_even, oracle::policy::infinity));
}

// exp in float may be on the other side of T's tie, and the sum is float's: a step of T each.
TYPED_TEST(pb_relax, rounds_every_step) {
  using T = TypeParam;
  std::mt19937 random(11);
  for (float const alpha : {1.0f, 8.0f, 32.0f}) {
    for (std::size_t const columns : {1U, 4U, 33U, 200U, 8200U}) {
      std::vector<T> x;
      hard::append_row(x, columns, 7, random);
      std::vector<T> out(columns);
      lowp::softmax_pb_relax(x, out, columns, alpha);
      double largest = -HUGE_VAL;
      for (T const each : x) largest = std::max(largest, double{float(each)});
      std::vector<double> e;
      double sum = 0;
      for (T const each : x) {
        double const score = rounded<T>(rounded<T>(largest - double{float(each)}) * double{alpha});
        e.push_back(rounded<T>(std::exp(-score)));
        sum += e.back();
      }
      double const factor = rounded<T>(1 / rounded<T>(sum));
      for (std::size_t i = 0; i < columns; ++i) {
        double const want = rounded<T>(e[i] * factor);
        ASSERT_NEAR(double{float(out[i])}, want, 6 * half_gap<T>(want)) << i << " of " << columns;
      }
    }
  }
}

// Four terms have an exact sum in float. Where no tie is near exp's result, there is one answer.
TYPED_TEST(pb_relax, of_four_is_exact) {
  using T = TypeParam;
  std::mt19937 random(12);
  std::uniform_real_distribution<float> below(-4, 0);
  int compared = 0;
  for (int row = 0; row < 4000; ++row) {
    std::array<T, 4> x{T(0), T(below(random)), T(below(random)), T(below(random))};
    std::array<T, 4> out;
    lowp::softmax_pb_relax(x, out, 4, 2.0f);
    std::array<double, 4> e{};
    double sum = 0;
    bool is_clear = true;
    for (std::size_t i = 0; i < 4; ++i) {
      double const exact = std::exp(-rounded<T>(-2.0 * double{float(x[i])}));
      e.at(i) = rounded<T>(exact);
      sum += e.at(i);
      is_clear &= rounded<T>(exact * (1 + 1e-6)) == rounded<T>(exact * (1 - 1e-6));
    }
    if (!is_clear) continue;
    ++compared;
    double const factor = rounded<T>(double{1 / static_cast<float>(rounded<T>(sum))});
    for (std::size_t i = 0; i < 4; ++i)
      ASSERT_EQ(double{float(out[i])}, rounded<T>(e.at(i) * factor)) << i << " of row " << row;
  }
  EXPECT_GT(compared, 3000);
}

// A query and a key of 128 elements of 40: their product is beyond float16. Divided by 32 it is
// not, and scores 256 apart still differ: float16 has every fourth integer there.
TEST(pb_relax_in_float16, holds_where_scores_overflow) {
  constexpr float alpha = 32;
  constexpr std::size_t columns = 64;
  std::vector<float> scores(columns);
  std::vector<lowp::float16> plain;
  std::vector<lowp::float16> relaxed;
  for (std::size_t i = 0; i < columns; ++i) {
    scores[i] = 128 * 40 * 40 - static_cast<float>(i * 256);
    plain.emplace_back(scores[i]);
    relaxed.emplace_back(scores[i] / alpha);
  }
  std::vector<lowp::float16> out(columns);
  lowp::softmax_pb_relax(plain, out, columns, 1.0f);
  for (lowp::float16 const p : out) EXPECT_TRUE(isnan(p));
  lowp::softmax_pb_relax(relaxed, out, columns, alpha);
  EXPECT_EQ(float(out[0]), 1.0f);
  EXPECT_EQ(float(out[1]), 0.0f);
}

TEST(pb_relax_refuses, an_alpha_that_is_not_positive_and_finite) {
  std::vector<lowp::float16> x(4);
  for (auto const& [alpha, text] :
       {std::pair{0.0f, "0"}, std::pair{-0.0f, "-0"}, std::pair{-2.0f, "-2"},
        std::pair{HUGE_VALF, "inf"}, std::pair{NAN, "nan"}})
    expect_refusal(
        [&, by = alpha] { lowp::softmax_pb_relax(x, x, 4, by); },
        std::string("lowp::softmax_pb_relax: alpha is ") + text + ", not finite and above 0");
}

}  // namespace
