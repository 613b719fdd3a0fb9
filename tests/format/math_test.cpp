// SPDX-License-Identifier: Apache-2.0
// Functions of one value and of two, and the gaps between values, against the ordered list of a
// format's values.
#include <algorithm>
#include <cmath>

#include "support/support.hpp"

namespace {

using namespace lowp_test;

template <class T>
oracle::number exact(T x) {
  return oracle::decode(facts<T>, x.bits());
}
template <class T>
double value(T x) {
  return value_of(facts<T>, x.bits());
}
template <class T>
T with_sign(T x, bool negative) {
  auto const mask = static_cast<std::uint32_t>(facts<T>.sign_mask());
  return of_code<T>((x.bits() & ~mask) | (negative ? mask : 0));
}

// Every value but NaN once, ascending, infinities included; zero stands once, as +0.
template <class T>
std::vector<double> ordered_values() {
  std::vector<double> values;
  for (std::uint32_t code = 0; code < code_count<T>; ++code) {
    double const x = value_of(facts<T>, code);
    if (x == x) values.push_back(x == 0 ? 0.0 : x);
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

// Neighbours of x on that list; NaN beyond its ends.
double above(std::vector<double> const& values, double x) {
  auto const at = std::upper_bound(values.begin(), values.end(), x);
  return at == values.end() ? std::nan("") : *at;
}
double below(std::vector<double> const& values, double x) {
  auto const at = std::lower_bound(values.begin(), values.end(), x);
  return at == values.begin() ? std::nan("") : *(at - 1);
}

template <class T>
class math : public testing::Test {};
TYPED_TEST_SUITE(math, every_format, by_format);

TYPED_TEST(math, classifies_every_code) {
  using T = TypeParam;
  for (std::uint32_t code = 0; code < code_count<T>; ++code) {
    T const x = of_code<T>(code);
    oracle::kind const what = exact(x).what;
    ASSERT_EQ(isnan(x), what == oracle::kind::nan) << shown(x);
    ASSERT_EQ(isinf(x), what == oracle::kind::infinity) << shown(x);
    ASSERT_EQ(isfinite(x), what == oracle::kind::finite || what == oracle::kind::zero) << shown(x);
    ASSERT_EQ(isnormal(x), what == oracle::kind::finite &&
                               std::fabs(value_of(facts<T>, code)) >= facts<T>.min_normal)
        << shown(x);
    ASSERT_EQ(signbit(x), exact(x).negative) << shown(x);
  }
}

// NaN and, without negative zero, zero have nowhere to put a sign.
template <class T>
bool takes_a_sign(T x) {
  if (facts<T>.nans != oracle::nan_rule::negative_zero) return facts<T>.is_signed;
  return exact(x).what != oracle::kind::nan && exact(x).what != oracle::kind::zero;
}

TYPED_TEST(math, abs_and_copysign_set_the_sign_alone) {
  using T = TypeParam;
  T const plus = of_code<T>(1);
  T const minus = with_sign(plus, true);
  for (std::uint32_t code = 0; code < code_count<T>; ++code) {
    T const x = of_code<T>(code);
    T const positive = takes_a_sign(x) ? with_sign(x, false) : x;
    T const negative = takes_a_sign(x) ? with_sign(x, true) : x;
    ASSERT_TRUE(has_bits(abs(x), positive.bits(), "abs", x));
    ASSERT_TRUE(has_bits(copysign(x, plus), positive.bits(), "copysign", x, plus));
    ASSERT_TRUE(has_bits(copysign(x, minus), negative.bits(), "copysign", x, minus));
    ASSERT_EQ(signbit(copysign(plus, x)), exact(x).negative && facts<T>.is_signed) << shown(x);
  }
}

float expected_gap(double x, double neighbour) {
  return static_cast<float>(std::abs(neighbour - x));
}

TYPED_TEST(math, gaps_are_the_distances_to_the_neighbours) {
  using T = TypeParam;
  auto const values = ordered_values<T>();
  for (std::uint32_t code = 0; code < code_count<T>; ++code) {
    T const x = of_code<T>(code);
    if (!isfinite(x)) {
      ASSERT_TRUE(std::isnan(gap_above(x)) && std::isnan(gap_below(x))) << shown(x);
      continue;
    }
    float const up = expected_gap(value(x), above(values, value(x)));
    float const down = expected_gap(value(x), below(values, value(x)));
    // Only the ends of the range have an infinite neighbour or none.
    ASSERT_EQ(std::isnan(up) || std::isinf(up), value(x) == facts<T>.max_finite) << shown(x);
    ASSERT_TRUE(std::isnan(up) ? std::isnan(gap_above(x)) : gap_above(x) == up) << shown(x) << up;
    ASSERT_TRUE(std::isnan(down) ? std::isnan(gap_below(x)) : gap_below(x) == down)
        << shown(x) << down;
  }
}

TYPED_TEST(math, ulp_is_the_distance_to_the_next_magnitude) {
  using T = TypeParam;
  static_assert(std::same_as<decltype(ulp(T{})), float>);
  static_assert(std::same_as<decltype(gap_above(T{})), float>);
  static_assert(std::same_as<decltype(gap_below(T{})), float>);
  auto magnitudes = ordered_values<T>();
  std::erase_if(magnitudes, [](double x) { return x < 0 || std::isinf(x); });
  // At the largest finite value the grid continues as it was.
  magnitudes.push_back(2 * magnitudes.back() - magnitudes[magnitudes.size() - 2]);
  if (facts<T>.significand_bits == 0) magnitudes.back() = 2 * facts<T>.max_finite;
  for (std::uint32_t code = 0; code < code_count<T>; ++code) {
    T const x = of_code<T>(code);
    if (!isfinite(x)) {
      ASSERT_TRUE(std::isnan(ulp(x))) << shown(x);
      continue;
    }
    double const size = std::abs(value(x));
    auto const expected = static_cast<float>(above(magnitudes, size) - size);
    ASSERT_TRUE(has_bits(ulp(x), float_bits(expected), "ulp", x));
  }
  EXPECT_EQ(ulp(of_code<T>(0)),
            static_cast<float>(facts<T>.min_subnormal));  // at zero, the smallest subnormal
}

template <class T>
T expected_nextafter(std::vector<double> const& values, T x, T y) {
  if (exact(x).what == oracle::kind::nan || exact(y).what == oracle::kind::nan) {
    return of_code<T>(canonical_nan(facts<T>));
  }
  if (value(x) == value(y)) return y;
  double const next = value(x) < value(y) ? above(values, value(x)) : below(values, value(x));
  oracle::number exact_next = oracle::from(next);
  if (next == 0) exact_next.negative = exact(x).negative;  // zero is met from x's side
  return of_code<T>(
      oracle::encode(facts<T>, exact_next, oracle::mode::toward_zero, oracle::policy::infinity));
}

template <class T>
T expected_extreme(T x, T y, bool largest) {
  bool const x_is_nan = exact(x).what == oracle::kind::nan;
  bool const y_is_nan = exact(y).what == oracle::kind::nan;
  if (x_is_nan && y_is_nan) return of_code<T>(canonical_nan(facts<T>));
  if (x_is_nan || y_is_nan) return x_is_nan ? y : x;
  bool const x_is_less =
      value(x) == value(y) ? exact(x).negative && !exact(y).negative : value(x) < value(y);
  return x_is_less == largest ? y : x;
}

template <class T>
testing::AssertionResult pair_is_right(std::vector<double> const& values, T x, T y) {
  T const next = expected_nextafter(values, x, y);
  T const low = expected_extreme(x, y, false);
  T const high = expected_extreme(x, y, true);
  if (auto same = has_bits(nextafter(x, y), next.bits(), "nextafter", x, y); !same) return same;
  if (auto same = has_bits(fmin(x, y), low.bits(), "fmin", x, y); !same) return same;
  return has_bits(fmax(x, y), high.bits(), "fmax", x, y);
}

TYPED_TEST(math, nextafter_fmin_and_fmax) {
  using T = TypeParam;
  auto const values = ordered_values<T>();
  if (facts<T>.bits() > 8) {
    codes<T> random(19);
    for (std::uint32_t code = 0; code < code_count<T>; ++code) {
      for (int i = 0; i < 8; ++i) {
        ASSERT_TRUE(pair_is_right(values, of_code<T>(code), random.next()));
        ASSERT_TRUE(pair_is_right(values, random.next(), of_code<T>(code)));
      }
    }
    return;
  }
  for (std::uint32_t a = 0; a < code_count<T>; ++a) {
    for (std::uint32_t b = 0; b < code_count<T>; ++b) {
      ASSERT_TRUE(pair_is_right(values, of_code<T>(a), of_code<T>(b)));
    }
  }
}

TEST(math, corners_by_name) {
  using lowp::bfloat16;
  using lowp::float8_e4m3fn;
  using lowp::float8_e8m0fnu;
  auto const largest = [](auto x) { return std::numeric_limits<decltype(x)>::max(); };
  EXPECT_EQ(ulp(bfloat16(0.0129f)), 0x1p-14f);
  EXPECT_EQ(ulp(largest(float8_e4m3fn())), 32.0f);
  EXPECT_TRUE(std::isnan(gap_above(largest(float8_e4m3fn()))));
  EXPECT_EQ(gap_above(-largest(float8_e4m3fn())), 32.0f);
  EXPECT_TRUE(std::isinf(gap_above(largest(bfloat16()))));
  EXPECT_TRUE(std::isinf(gap_below(-largest(bfloat16()))));
  EXPECT_EQ(gap_below(bfloat16(1)), 0x1p-8f);
  EXPECT_EQ(gap_above(bfloat16(1)), 0x1p-7f);
  EXPECT_EQ(gap_below(bfloat16(0)), 0x1p-133f);
  EXPECT_TRUE(std::isnan(gap_below(float8_e8m0fnu::from_bits(0))));
  EXPECT_EQ(ulp(float8_e8m0fnu::from_bits(0)), 0x1p-127f);
}

}  // namespace
