// SPDX-License-Identifier: Apache-2.0
// numeric_limits and hash of every format.
#include <cmath>
#include <limits>
#include <unordered_set>

#include "support/support.hpp"

namespace {

using namespace lowp_test;

template <class T>
class limits : public testing::Test {};
TYPED_TEST_SUITE(limits, every_format, by_format);

TYPED_TEST(limits, say_what_kind_of_number_it_is) {
  using T = TypeParam;
  using L = std::numeric_limits<T>;
  constexpr oracle::facts f = facts<T>;
  static_assert(L::is_specialized && !L::is_integer && !L::is_exact && L::is_bounded);
  static_assert(!L::is_modulo && !L::traps && !L::tinyness_before && !L::has_denorm_loss);
  static_assert(L::radix == 2 && L::round_style == std::round_to_nearest);
  EXPECT_EQ(L::is_signed, f.is_signed);
  EXPECT_EQ(L::has_infinity, f.has_infinity);
  EXPECT_EQ(L::has_quiet_NaN, f.has_nan());
  // Two bits of payload: one to be quiet and one to be no infinity while it is not.
  EXPECT_EQ(L::has_signaling_NaN, f.nans == oracle::nan_rule::ieee && f.significand_bits >= 2);
  EXPECT_EQ(L::has_denorm, f.significand_bits > 0 ? std::denorm_present : std::denorm_absent);
  // A11: infinity, NaN and signed zero as in IEEE 754.
  EXPECT_EQ(L::is_iec559, f.has_infinity && f.has_nan() && f.has_negative_zero());
}

TYPED_TEST(limits, count_digits_and_exponents) {
  using T = TypeParam;
  using L = std::numeric_limits<T>;
  constexpr oracle::facts f = facts<T>;
  int const p = f.significand_bits + 1;
  EXPECT_EQ(L::digits, p);
  EXPECT_EQ(L::digits10, static_cast<int>(std::floor((p - 1) * std::log10(2.0))));
  EXPECT_EQ(L::max_digits10, static_cast<int>(std::ceil(1 + p * std::log10(2.0))));
  // 2^(exponent - 1) is the smallest normal power of two, and the largest finite one.
  EXPECT_EQ(std::ldexp(1.0, L::min_exponent - 1), f.min_normal);
  EXPECT_LE(std::ldexp(1.0, L::max_exponent - 1), f.max_finite);
  EXPECT_GT(std::ldexp(1.0, L::max_exponent), f.max_finite);
  // 10^exponent10 is in the normal range, and one further is not.
  auto const ten_to = [](int n) { return std::pow(10.0L, n); };
  EXPECT_GE(ten_to(L::min_exponent10), f.min_normal);
  EXPECT_LT(ten_to(L::min_exponent10 - 1), f.min_normal);
  EXPECT_LE(ten_to(L::max_exponent10), f.max_finite);
  EXPECT_GT(ten_to(L::max_exponent10 + 1), f.max_finite);
}

TYPED_TEST(limits, have_the_extreme_values) {
  using T = TypeParam;
  using L = std::numeric_limits<T>;
  constexpr oracle::facts f = facts<T>;
  auto const value = [](T x) { return value_of(facts<T>, x.bits()); };
  EXPECT_EQ(value(L::max()), f.max_finite);
  EXPECT_EQ(value(L::lowest()), f.is_signed ? -f.max_finite : f.has_zero() ? 0 : f.min_subnormal);
  EXPECT_EQ(value(L::min()), f.min_normal);
  EXPECT_EQ(value(L::denorm_min()), f.min_subnormal);
  EXPECT_EQ(value(L::epsilon()), std::ldexp(1.0, -f.significand_bits));
  EXPECT_EQ(value(L::round_error()), 0.5);
}

// Formats of a program's own: the largest values are 8 and 992, and 1 is subnormal.
template <lowp::format F>
using limits_of = std::numeric_limits<lowp::basic_float<F>>;
static_assert(limits_of<lowp::format{3, 0, 3, lowp::specials::nan_all_ones, false}>::max() == 8);
static_assert(
    limits_of<lowp::format{3, 0, 3, lowp::specials::nan_all_ones, false}>::max_exponent10 == 0);
static_assert(limits_of<lowp::format{4, 4, 5}>::max() == 992);
static_assert(limits_of<lowp::format{4, 4, 5}>::max_exponent10 == 2);
static_assert(limits_of<lowp::format{3, 3, 0}>::epsilon() == 0.25f);

TYPED_TEST(limits, have_the_special_values) {
  using T = TypeParam;
  using L = std::numeric_limits<T>;
  constexpr oracle::facts f = facts<T>;
  std::uint32_t const quiet = f.has_nan() ? canonical_nan(f) : 0;
  EXPECT_TRUE(has_bits(L::quiet_NaN(), quiet));
  auto const infinity = static_cast<std::uint32_t>(f.max_code() + 1);
  EXPECT_TRUE(has_bits(L::infinity(), f.has_infinity ? infinity : quiet));
  if (L::has_signaling_NaN) {
    oracle::number const signalling = oracle::decode(f, L::signaling_NaN().bits());
    EXPECT_TRUE(signalling.what == oracle::kind::nan);
    EXPECT_TRUE(signalling.payload != 0 && (signalling.payload & oracle::quiet_payload) == 0);
  }
}

TYPED_TEST(limits, hash_follows_equality) {
  using T = TypeParam;
  std::hash<T> const hash;
  std::unordered_set<std::size_t> hashes;
  std::unordered_set<T> values;
  std::size_t different = 0;
  for (std::uint32_t code = 0; code < code_count<T>; ++code) {
    T const x = of_code<T>(code);
    hashes.insert(hash(x));
    if (isnan(x)) continue;
    different += values.insert(x).second;
    EXPECT_EQ(hash(x), hash(x == T(0) && facts<T>.has_zero() ? -x : x)) << shown(x);
    EXPECT_TRUE(values.contains(x)) << shown(x);
  }
  EXPECT_EQ(values.size(), different);
  // Not everything in one bucket: one code may share with its like, such as both zeros.
  EXPECT_GE(hashes.size(), code_count<T> - 1);
}

}  // namespace
