// SPDX-License-Identifier: Apache-2.0
// sum, mean, dot and norm against exact sums, within the stated bound over any elements. A narrow
// running sum has long stopped there. Infinities and NaN give what their rules say.
#include <gtest/gtest.h>
#include <lowp/measure.hpp>
#include <lowp/value.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/sum_expectations.hpp"
#include "train/update/support.hpp"

namespace {

using namespace lowp_test;

constexpr float inf = std::numeric_limits<float>::infinity();

template <lowp::element T>
expected_sum sum_of(tensor const& x) {
  expected_sum all;
  for (std::size_t i = 0; i < x.size(); ++i) all.add(x.value(i), float_bits(1.0f));
  return all;
}
expected_sum dot_of(tensor const& a, tensor const& b) {
  expected_sum all;
  for (std::size_t i = 0; i < a.size(); ++i) all.add(a.value(i), b.value(i));
  return all;
}

template <lowp::element A, lowp::element B>
void expect_oracle() {
  for (values const kind : {values::corners, values::training})
    for (std::size_t const size : {0U, 1U, 5U, 300U, 2049U, 40000U})
      for (std::size_t const lead : {0U, 3U}) {
        SCOPED_TRACE(size);
        tensor const x = random_tensor<A>(size, size, kind);
        tensor const y = random_tensor<B>(size, size + 1, kind, 100);
        guarded<A> a(x, lead);
        guarded<B> b(y, 1);
        lowp::sum_report added;
        lowp::sum_report multiplied;
        lowp::sum(a.span(), added);
        lowp::dot(a.span(), b.span(), multiplied);
        expect(added, sum_of<A>(x));
        expect(multiplied, dot_of(x, y));
        ASSERT_TRUE(a.holds(x, "a"));
        ASSERT_TRUE(b.holds(y, "b"));
        EXPECT_EQ(float_bits(static_cast<float>(lowp::sum(a.span()))),
                  float_bits(static_cast<float>(added.value())));
        EXPECT_EQ(std::isnan(lowp::mean(a.span())), std::isnan(added.mean()));
        EXPECT_EQ(std::isnan(lowp::dot(a.span(), b.span())), std::isnan(multiplied.value()));
      }
}

TEST(sums, of_floats) { expect_oracle<float, float>(); }
TEST(sums, of_bfloat16) { expect_oracle<lowp::bfloat16, float>(); }
TEST(sums, of_float16) { expect_oracle<lowp::float16, lowp::bfloat16>(); }
TEST(sums, of_float8) { expect_oracle<lowp::float8_e4m3fn, lowp::float8_e5m2>(); }

// 1e30 and its opposite beside numbers that they hide from any double.
TEST(sums, that_cancel) {
  tensor const random = random_tensor<float>(30000, 5, values::training, 1e-6);
  tensor x = random;
  for (std::size_t i = 0; i < x.size(); i += 3) {
    x.codes[i] = float_bits(i % 2 == 0 ? 1e30f : -1e30f);
  }
  guarded<float> a(x, 0);
  lowp::sum_report report;
  lowp::sum(a.span(), report);
  expect(report, sum_of<float>(x));
  lowp::sum_report squares;
  lowp::dot(a.span(), a.span(), squares);
  expect(squares, dot_of(x, x));
}

// A large term in every lane, then small terms that a double beside it would lose: the task of
// compensation. The number of terms that are added first is the library's business. It adds fewer
// where it meets an infinity.
TEST(sums, compensate_each_addition) {
  constexpr std::size_t size = 3 * 16384;
  for (int exponent = -66; exponent < -50; ++exponent) {
    for (std::size_t const large : {8U, 64U, 255U}) {
      SCOPED_TRACE(std::to_string(large) + " ones, 2^" + std::to_string(exponent));
      tensor x{oracle::binary32,
               std::vector<std::uint32_t>(size, float_bits(std::ldexp(1.99f, exponent)))};
      for (std::size_t i = 0; i < size; ++i)
        if (i % 16384 < large) x.codes[i] = float_bits(1.0f);
      tensor roots = x;
      for (std::uint32_t& code : roots.codes) code = float_bits(std::sqrt(float_of(code)));
      guarded<float> a(x, 0);
      guarded<float> b(roots, 0);
      lowp::sum_report added;
      lowp::sum_report multiplied;
      lowp::sum(a.span(), added);
      lowp::dot(b.span(), b.span(), multiplied);
      expect(added, sum_of<float>(x));
      for (std::size_t i = 255; i < size; i += 256) x.codes[i] = float_bits(inf);
      guarded<float> infinite(x, 0);
      lowp::sum_report finite;
      lowp::sum(infinite.span(), finite);
      expect(finite, sum_of<float>(x));
      expect(multiplied, dot_of(roots, roots));
      long double const squares = dot_of(roots, roots).sum.value();
      double const norm = lowp::norm(b.span());
      EXPECT_LE(std::fabs(norm / std::sqrt(squares) - 1), 0x1p-48L);
    }
  }
}

// The largest terms there are, and the smallest.
TEST(sums, neither_overflow_nor_vanish) {
  std::vector<float> const large(70000, std::numeric_limits<float>::max());
  double const max = std::numeric_limits<float>::max();
  EXPECT_EQ(lowp::sum(large), 70000 * max);
  EXPECT_NEAR(lowp::dot(large, large) / (max * max), 70000, 1e-9);
  EXPECT_EQ(lowp::mean(large), max);
  std::vector<float> const tiny(70000, std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(lowp::sum(tiny), 70000 * 0x1p-149);
  EXPECT_EQ(lowp::dot(tiny, tiny), 70000 * 0x1p-298);
  EXPECT_EQ(lowp::norm(tiny), std::sqrt(70000.0) * 0x1p-149);
}

// A narrow loop sticks here, and sum() does not.
TEST(sums, go_on_where_a_narrow_running_sum_sticks) {
  std::vector<lowp::bfloat16> const ones(100000, lowp::bfloat16(1));
  lowp::bfloat16 running(0);
  for (lowp::bfloat16 const x : ones) running += x;
  EXPECT_EQ(float{running}, 256.0f);
  EXPECT_EQ(lowp::sum(ones), 100000.0);
  EXPECT_EQ(lowp::mean(ones), 1.0);
  EXPECT_EQ(lowp::norm(ones), std::sqrt(100000.0));
  EXPECT_EQ(lowp::dot(ones, ones), 100000.0);

  std::vector<lowp::float16> const sixteens(256, lowp::float16(16));
  lowp::float16 squares(0);
  for (lowp::float16 const x : sixteens) squares += x * x;
  EXPECT_TRUE(isinf(squares));
  EXPECT_EQ(lowp::dot(sixteens, sixteens), 65536.0);
  EXPECT_EQ(lowp::norm(sixteens), 256.0);
}

TEST(sums, of_infinities_and_nan) {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> const rising{1, inf, 2};
  std::vector<float> const falling{-inf, 1, 2};
  std::vector<float> const both{-inf, 1, inf};
  std::vector<float> const none{1, nan, -inf};
  EXPECT_EQ(lowp::sum(rising), double{inf});
  EXPECT_EQ(lowp::mean(rising), double{inf});
  EXPECT_EQ(lowp::sum(falling), -double{inf});
  EXPECT_TRUE(std::isnan(lowp::sum(both)));
  EXPECT_TRUE(std::isnan(lowp::sum(none)));
  EXPECT_TRUE(std::isnan(lowp::mean(none)));
  EXPECT_EQ(lowp::norm(both), double{inf});
  EXPECT_EQ(lowp::dot(rising, std::vector<float>{1, 1, 1}), double{inf});
  EXPECT_EQ(lowp::dot(rising, std::vector<float>{1, -1, 1}), -double{inf});
  EXPECT_TRUE(std::isnan(lowp::dot(rising, std::vector<float>{1, 0, 1})));
  EXPECT_EQ(lowp::dot(rising, std::vector<float>{1, 1e-45f, 1}), double{inf});
  EXPECT_TRUE(std::isnan(lowp::dot(rising, falling)));  // both infinities
}

// A special element, anywhere, is seen once and hides no other term.
TEST(sums, see_one_special_element_anywhere) {
  for (float const special : {inf, -inf, std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<lowp::bfloat16> x(700, lowp::bfloat16(2));
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = lowp::bfloat16(special);
      lowp::sum_report report;
      lowp::sum(x, report);
      ASSERT_EQ(report.nan + report.positive_infinite + report.negative_infinite, 1U) << i;
      ASSERT_EQ(report.finite.value(), 2.0 * 699) << i;
      x[i] = lowp::bfloat16(2);
    }
  }
}

// Several of them in one batch of packs, in one lane too: there infinities would cancel to NaN.
template <lowp::element T>
void expect_two_anywhere() {
  std::vector<T> x(600, T(2));
  float const nan = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t const distance : {1U, 4U, 8U, 16U, 32U, 256U, 300U})
    for (std::size_t i = 0; i + distance < x.size(); ++i)
      for (float const second : {inf, -inf, nan}) {
        x[i] = T(inf);
        x[i + distance] = T(second);
        for (bool const is_dot : {false, true}) {
          lowp::sum_report report;
          if (is_dot)
            lowp::dot(x, std::vector<T>(600, T(1)), report);
          else
            lowp::sum(x, report);
          ASSERT_EQ(report.positive_infinite, second == inf ? 2U : 1U) << i;
          ASSERT_EQ(report.negative_infinite, second == -inf ? 1U : 0U) << i;
          ASSERT_EQ(report.nan, std::isnan(second) ? 1U : 0U) << i;
          ASSERT_EQ(report.finite.value(), 2.0 * 598) << i;
        }
        x[i] = x[i + distance] = T(2);
      }
}
TEST(sums, see_two_special_elements_anywhere) {
  expect_two_anywhere<float>();
  expect_two_anywhere<lowp::bfloat16>();
  expect_two_anywhere<lowp::float16>();
}

// Narrow numbers that float cannot add. One is little beside the rest, anywhere; some are, at the
// start or many; and some sums are more than float can hold.
TEST(sums, of_narrow_numbers_are_as_wide_as_any) {
  std::vector<lowp::bfloat16> x(700, lowp::bfloat16(1));
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = lowp::bfloat16(0x1p-40f);
    ASSERT_EQ(lowp::sum(x), 699 + 0x1p-40) << i;
    x[i] = lowp::bfloat16(1);
  }
  std::vector<lowp::bfloat16> y(20000, lowp::bfloat16(1));
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (i < 5000 || i % 3 == 0) y[i] = lowp::bfloat16(i % 2 == 0 ? 0x1.8p-30f : -0x1p-33f);
  }
  double exact = 0;  // a multiple of 2^-33, below 2^20
  for (lowp::bfloat16 const each : y) exact += double{float{each}};
  EXPECT_EQ(lowp::sum(y), exact);

  auto const largest = std::numeric_limits<lowp::bfloat16>::max();
  EXPECT_EQ(lowp::sum(std::vector<lowp::bfloat16>(5000, largest)), 5000 * double{float{largest}});
  auto const least = std::numeric_limits<lowp::bfloat16>::denorm_min();
  EXPECT_EQ(lowp::sum(std::vector<lowp::bfloat16>(5000, least)), 5000 * double{float{least}});
}

// The processor's flag tells that sums were exact.
TEST(sums, hardware_says_that_it_has_rounded) {
#if !defined(__SSE__)
  GTEST_SKIP() << "the processor does not tell what it rounded";
#endif
  struct {
    float v;
  } x{1};
  using flag = lowp::detail::rounding_flag;
  lowp::detail::default_environment const environment;
  for (bool const rounds : {false, true, false}) {
    x.v = 1;
    x = flag::clear(x);
    x.v += rounds ? 0x1p-30f : 0x1p-20f;
    EXPECT_EQ(flag::is_set_by(x, x), rounds);
  }
}

TEST(sums, of_nothing) {
  std::vector<float> const none;
  EXPECT_EQ(lowp::sum(none), 0.0);
  EXPECT_FALSE(std::signbit(lowp::sum(none)));
  EXPECT_TRUE(std::isnan(lowp::mean(none)));
  EXPECT_EQ(lowp::dot(none, none), 0.0);
  EXPECT_EQ(lowp::norm(none), 0.0);
}

// Cut at multiples of a block, in any order: not a bit of the sums changes.
TEST(sums, of_shards_are_those_of_the_whole) {
  constexpr std::size_t block = 1 << 14;
  constexpr std::size_t size = 5 * block + 333;
  tensor const in = random_tensor<float>(size, 8, values::training);
  guarded<float> x(in, 1);
  lowp::sum_report whole;
  lowp::dot(x.span(), x.span(), whole);
  for (std::size_t const blocks : {1U, 2U, 3U}) {
    std::vector<lowp::sum_report> parts;
    for (std::size_t first = 0; first < size; first += blocks * block) {
      auto const part = x.span().subspan(first, std::min(blocks * block, size - first));
      lowp::dot(part, part, parts.emplace_back());
    }
    std::reverse(parts.begin(), parts.end());
    lowp::sum_report merged;
    for (lowp::sum_report const& part : parts) merged += part;
    EXPECT_TRUE(same(merged, whole)) << blocks;
  }
}

// Storages are read as their values.
TEST(sums, of_storages) {
  std::vector<lowp::float16> codes(1000, lowp::float16(3));
  std::span<lowp::float16 const> const read_only = codes;
  EXPECT_EQ(lowp::sum(lowp::scaled{read_only, 0.25f}), 12000.0);
  EXPECT_EQ(lowp::dot(lowp::scaled{read_only, 0.25f}, codes), 36000.0);
}

TEST(sums, refuse_sizes_that_differ) {
  std::vector<float> const a(3);
  std::vector<lowp::bfloat16> const b(4);
  try {
    static_cast<void>(lowp::dot(a, b));
    FAIL() << "sizes differ";
  } catch (std::invalid_argument const& refusal) {
    EXPECT_STREQ(refusal.what(), "lowp::dot: sizes differ: a has 3, b has 4");
  }
}

}  // namespace
