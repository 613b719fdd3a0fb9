// SPDX-License-Identifier: Apache-2.0
// Softmax and log-softmax against the maths in double, within the bounds of their headers. The rows
// are hard: all equal, one far above, differences of 1e4 and more, results that are subnormal.
#include <lowp/nn.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

#include "support/row_support.hpp"
#include "support/strided.hpp"

namespace {

using namespace lowp_test;

template <class Pair>
class softmax_rows : public testing::Test {};
using pairs = first_or_all<
    3,
    testing::Types<in_and_out<float, float>, in_and_out<lowp::bfloat16, lowp::bfloat16>,
                   in_and_out<lowp::float16, lowp::float16>, in_and_out<lowp::float8_e5m2, float>,
                   in_and_out<float, lowp::float8_e4m3fn>>>;
TYPED_TEST_SUITE(softmax_rows, pairs);

// Before it is rounded to the output.
double softmax_bound(double p, double below, double n) {
  return p * (below + std::log(n) + n / 256 + 14) * 0x1p-24 + 0x1p-148;
}
double log_bound(double below, double n) {
  return (2 * below + 4 * std::log(n) + n / 256 + 12) * 0x1p-24;
}

template <class In, class Out>
void check_row(std::span<In const> in, std::span<Out const> p, std::span<Out const> log_p) {
  exact_row const row(in);
  auto const n = static_cast<double>(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    double const below = row.largest - double{float(in[i])};
    double const want = row.e(i) / row.sum;
    ASSERT_LE(std::fabs(double{float(p[i])} - want),
              half_gap<Out>(want) + softmax_bound(want, std::isinf(below) ? 0 : below, n))
        << i << " of " << n << ": " << float(in[i]) << " under " << row.largest << " gives "
        << float(p[i]) << " for " << want;
    if constexpr (!std::same_as<Out, lowp::float8_e4m3fn>) {
      double const log_want = -below - std::log(row.sum);
      if (std::fabs(log_want) > largest_finite<Out>()) {
        ASSERT_EQ(float(log_p[i]), -HUGE_VALF) << i;
      } else {
        ASSERT_LE(std::fabs(double{float(log_p[i])} - log_want),
                  half_gap<Out>(log_want) + log_bound(below, n))
            << i << " of " << n << ": " << float(in[i]) << " under " << row.largest << " gives "
            << float(log_p[i]) << " for " << log_want;
      }
    }
  }
}

TYPED_TEST(softmax_rows, are_within_the_bound) {
  using In = typename TypeParam::in;
  using Out = typename TypeParam::out;
  std::mt19937 random(1);
  for (std::size_t const columns : row_lengths()) {
    std::size_t const rows = columns < 300 ? 2 * hard::kinds : hard::kinds;
    std::vector<In> in;
    for (std::size_t r = 0; r < rows; ++r) hard::append_row(in, columns, r % hard::kinds, random);
    std::vector<Out> p(in.size());
    std::vector<Out> log_p(in.size());
    lowp::softmax(in, p, columns);
    lowp::log_softmax(in, log_p, columns);
    for (std::size_t r = 0; r < rows; ++r) {
      SCOPED_TRACE(r % hard::kinds);
      check_row<In, Out>(std::span(in).subspan(r * columns, columns),
                         std::span(p).subspan(r * columns, columns),
                         std::span(log_p).subspan(r * columns, columns));
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(softmax_rows, may_be_written_where_they_are_read) {
  using In = typename TypeParam::in;
  using Out = typename TypeParam::out;
  if constexpr (std::same_as<In, Out>) {
    std::mt19937 random(2);
    for (std::size_t const columns : {5U, 48U, 300U, 9000U}) {
      std::vector<In> in;
      for (std::size_t r = 0; r < hard::kinds; ++r) hard::append_row(in, columns, r, random);
      std::vector<Out> apart(in.size());
      lowp::softmax(in, apart, columns);
      lowp::softmax(in, in, columns);
      for (std::size_t i = 0; i < in.size(); ++i)
        ASSERT_TRUE(has_bits(in[i], code_of(apart[i]), columns, i));
    }
  }
}

// A row's bits depend on nothing but the row.
TYPED_TEST(softmax_rows, are_the_same_alone_and_anywhere_in_memory) {
  using In = typename TypeParam::in;
  using Out = typename TypeParam::out;
  std::mt19937 random(3);
  for (std::size_t const columns : {1U, 7U, 64U, 129U, 1000U, 8200U}) {
    std::vector<In> in;
    for (std::size_t r = 0; r < 20; ++r) hard::append_row(in, columns, r % hard::kinds, random);
    std::vector<Out> all(in.size());
    std::vector<Out> alone(in.size() + 3);
    lowp::softmax(in, all, columns);
    for (std::size_t r = 0; r < 20; ++r)
      lowp::softmax(std::span(in).subspan(r * columns, columns),
                    std::span(alone).subspan(3 + r * columns, columns), columns);
    for (std::size_t i = 0; i < in.size(); ++i)
      ASSERT_TRUE(has_bits(alone[i + 3], code_of(all[i]), columns, i));
  }
}

// Rows that begin anywhere: packed ones have the same bits, and what lies between them is poison.
TYPED_TEST(softmax_rows, may_have_a_stride) {
  using In = typename TypeParam::in;
  using Out = typename TypeParam::out;
  std::mt19937 random(4);
  for (std::size_t const columns : {1U, 7U, 64U, 129U, 1000U, 8200U})
    for (std::size_t const between : {1U, 16U}) {
      std::vector<In> in;
      for (std::size_t r = 0; r < 20; ++r) hard::append_row(in, columns, r % hard::kinds, random);
      std::vector<Out> packed(in.size());
      lowp::softmax(in, packed, columns);
      auto const spaced = spread(in, columns, between + 1, std::numeric_limits<In>::quiet_NaN());
      auto out = spread(std::vector<Out>(in.size()), columns, between, Out(-7.0f));
      lowp::softmax(lowp::strided_rows{spaced, columns + between + 1},
                    lowp::strided_rows{out, columns + between}, columns);
      ASSERT_EQ(gathered(out, columns, between, Out(-7.0f)), packed);
      if constexpr (std::same_as<In, Out>) {
        auto place = spread(in, columns, between, Out(-7.0f));
        lowp::strided_rows const rows{place, columns + between};
        lowp::softmax(rows, rows, columns);
        ASSERT_EQ(gathered(place, columns, between, Out(-7.0f)), packed);
      }
    }
}

TYPED_TEST(softmax_rows, touch_nothing_between_them) {
  using In = typename TypeParam::in;
  using Out = typename TypeParam::out;
  std::mt19937 random(5);
  auto const page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (std::size_t const columns : {std::size_t{1}, std::size_t{9}, std::size_t{100},
                                    page / std::max(sizeof(In), sizeof(Out))}) {
    rows_on_pages<In> const in(5, columns);
    rows_on_pages<Out> const out(5, columns);
    std::vector<In> packed;
    for (std::size_t r = 0; r < 5; ++r) hard::append_row(packed, columns, r, random);
    for (std::size_t i = 0; i < packed.size(); ++i) in.row(i / columns)[i % columns] = packed[i];
    lowp::softmax(lowp::strided_rows{in.elements(), in.stride()},
                  lowp::strided_rows{out.elements(), out.stride()}, columns);
    std::vector<Out> want(packed.size());
    lowp::softmax(packed, want, columns);
    for (std::size_t i = 0; i < want.size(); ++i)
      ASSERT_TRUE(has_bits(out.row(i / columns)[i % columns], code_of(want[i]), columns, i));
  }
}

TEST(softmax_specials, minus_infinity_has_no_probability) {
  std::vector<float> const in{1, -HUGE_VALF, 1, -HUGE_VALF};
  std::vector<float> out(4);
  lowp::softmax(in, out, 4);
  EXPECT_EQ(out, (std::vector<float>{0.5f, 0, 0.5f, 0}));
  lowp::log_softmax(in, out, 4);
  EXPECT_EQ(out[1], -HUGE_VALF);
  EXPECT_NEAR(out[0], -std::log(2.0), 1e-7);
}

TEST(softmax_specials, a_row_of_minus_infinity_gives_zeros) {
  for (std::size_t const columns : {1U, 5U, 16U, 40U, 600U, 9000U}) {
    std::vector<lowp::float16> const in(2 * columns, lowp::float16(-HUGE_VALF));
    std::vector<float> out(2 * columns, 7.0f);
    lowp::softmax(in, out, columns);
    for (float const p : out) ASSERT_TRUE(has_bits(p, 0U, columns));
    lowp::log_softmax(in, out, columns);
    for (float const p : out) ASSERT_TRUE(has_bits(p, float_bits(-HUGE_VALF), columns));
  }
}

// NaN of either sign, quiet or not, and +inf, in any place; the rows beside it are as they were.
TEST(softmax_specials, one_nan_or_infinity_makes_its_row_nan) {
  for (std::uint32_t const bad : {0x7fc00000U, 0xffc00000U, 0x7f800001U, 0xff800001U, 0x7f800000U})
    for (std::size_t const columns : {1U, 3U, 16U, 50U, 300U, 8200U}) {
      for (std::size_t at = 0; at < columns; at += columns / 7 + 1) {
        std::vector<float> in(3 * columns, -2.0f);
        in[columns + at] = float_of(bad);
        std::vector<float> out(in.size());
        for (bool const is_log : {false, true}) {
          is_log ? lowp::log_softmax(in, out, columns) : lowp::softmax(in, out, columns);
          for (std::size_t i = 0; i < in.size(); ++i) {
            bool const is_nan = i / columns == 1;
            ASSERT_EQ(float_bits(out[i]) == 0x7fc00000U, is_nan) << i << " of " << columns;
            ASSERT_EQ(std::isfinite(out[i]), !is_nan) << i << " of " << columns;
          }
        }
      }
    }
}

TEST(softmax_specials, half_precision_scores_ten_thousand_apart_are_fine) {
  std::vector<lowp::float16> const in{lowp::float16(1e4f), lowp::float16(-1e4f),
                                      lowp::float16(1e4f)};
  std::vector<lowp::float16> out(3);
  lowp::softmax(in, out, 3);
  EXPECT_EQ(float(out[0]), 0.5f);
  EXPECT_EQ(float(out[1]), 0.0f);
}

TEST(softmax_refuses, what_is_not_rows) {
  std::vector<float> x(12);
  std::vector<lowp::bfloat16> y(12, lowp::bfloat16(1));
  expect_refusal([&] { lowp::softmax(x, y, 0); }, "lowp::softmax: columns is 0");
  expect_refusal([&] { lowp::softmax(x, y, 5); },
                 "lowp::softmax: in has 12 elements, which are not rows of 5");
  expect_refusal([&] { lowp::log_softmax(x, std::span(y).first(8), 4); },
                 "lowp::log_softmax: sizes differ: in has 12, out has 8");
  expect_refusal(
      [&] { lowp::softmax(std::span(x).first(8), std::span(x).last(8), 4); },
      "lowp::softmax: in (32 bytes) and out (32 bytes) overlap: out starts 16 bytes into in");
  for (lowp::bfloat16 const each : y) EXPECT_EQ(each, lowp::bfloat16(1));
  lowp::softmax(std::span<float>(), std::span<float>(), 3);
}

TEST(softmax_refuses, what_is_not_rows_of_a_stride) {
  std::vector<float> x(15);
  auto const rows_from = [&](std::size_t first, std::size_t stride) {
    return lowp::strided_rows{std::span(x).subspan(first), stride};
  };
  std::vector<float> y(10);
  expect_refusal([&] { lowp::softmax(rows_from(0, 4), y, 5); },
                 "lowp::softmax: in has 15 elements, which are not rows of 5 that begin 4 apart");
  expect_refusal([&] { lowp::softmax(rows_from(0, 12), y, 5); },
                 "lowp::softmax: in has 15 elements, which are not rows of 5 that begin 12 apart");
  expect_refusal([&] { lowp::softmax(y, rows_from(0, 0), 5); },
                 "lowp::softmax: out has 15 elements, which are not rows of 5 that begin 0 apart");
  expect_refusal([&] { lowp::softmax(rows_from(0, 5), y, 5); },
                 "lowp::softmax: sizes differ: in has 15, out has 10");
  expect_refusal(
      [&] { lowp::softmax(rows_from(0, 5), rows_from(2, 5), 3); },
      "lowp::softmax: in (52 bytes) and out (52 bytes) overlap: out starts 8 bytes into in");
  expect_refusal(
      [&] { lowp::softmax(rows_from(2, 5), rows_from(0, 5), 3); },
      "lowp::softmax: in (52 bytes) and out (52 bytes) overlap: in starts 8 bytes into out");
  expect_refusal(
      [&] { lowp::softmax(rows_from(0, 5), rows_from(0, 6), 3); },
      "lowp::softmax: in (52 bytes) and out (60 bytes) overlap: in starts 0 bytes into out");
  // Columns of one matrix share no element.
  lowp::softmax(rows_from(0, 5), rows_from(3, 5), 2);
  EXPECT_EQ(x, (std::vector<float>{0, 0, 0, 0.5f, 0.5f, 0, 0, 0, 0.5f, 0.5f, 0, 0, 0, 0.5f, 0.5f}));
  lowp::softmax(rows_from(3, 5), rows_from(0, 5), 2);
  EXPECT_EQ(x[0], 0.5f);
  static_assert(std::invocable<decltype(lowp::softmax), std::vector<float>&,
                               lowp::strided_rows<float>, std::size_t>);
  static_assert(!std::invocable<decltype(lowp::softmax), std::vector<float>&,
                                lowp::strided_rows<float const>, std::size_t>);
  static_assert(!std::invocable<decltype(lowp::softmax), lowp::strided_rows<int>,
                                std::vector<float>&, std::size_t>);
}

}  // namespace
