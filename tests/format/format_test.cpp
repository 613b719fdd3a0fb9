// SPDX-License-Identifier: Apache-2.0
// Properties of each format against its publisher's.
#include <cmath>
#include <limits>
#include <type_traits>

#include "support/support.hpp"

namespace {

using namespace lowp_test;

lowp::specials specials_of(oracle::facts const& f) {
  switch (f.nans) {
    case oracle::nan_rule::none:
      return lowp::specials::none;
    case oracle::nan_rule::ieee:
      return lowp::specials::ieee;
    case oracle::nan_rule::negative_zero:
    case oracle::nan_rule::unsigned_p3109:
      return f.has_infinity ? lowp::specials::p3109_extended : lowp::specials::nan_negative_zero;
    case oracle::nan_rule::all_ones:
    case oracle::nan_rule::unsigned_all_ones:
      return lowp::specials::nan_all_ones;
  }
  return {};
}

template <class T>
class format : public testing::Test {};
TYPED_TEST_SUITE(format, every_format, by_format);

TYPED_TEST(format, is_as_published) {
  constexpr oracle::facts f = facts<TypeParam>;
  constexpr lowp::format F = TypeParam::descriptor;
  EXPECT_EQ(F.exponent_bits, f.exponent_bits);
  EXPECT_EQ(F.significand_bits, f.significand_bits);
  EXPECT_EQ(F.bias, f.bias);
  EXPECT_EQ(F.has_sign, f.is_signed);
  EXPECT_EQ(F.special_values, specials_of(f));
}

TYPED_TEST(format, derives_the_other_facts) {
  constexpr oracle::facts f = facts<TypeParam>;
  constexpr lowp::format F = TypeParam::descriptor;
  EXPECT_TRUE(F.is_valid());
  EXPECT_EQ(F.magnitude_bits(), f.magnitude_bits());
  EXPECT_EQ(F.bits(), f.bits());
  EXPECT_EQ(F.precision(), f.significand_bits + 1);
  EXPECT_EQ(F.has_infinity(), f.has_infinity);
  EXPECT_EQ(F.has_nan(), f.has_nan());
  EXPECT_EQ(F.has_zero(), f.has_zero());
  EXPECT_EQ(F.has_negative_zero(), f.has_negative_zero());
  EXPECT_EQ(F.magnitude_mask(), f.magnitude_mask());
  EXPECT_EQ(F.sign_mask(), f.sign_mask());
  EXPECT_EQ(F.code_mask(), f.magnitude_mask() | f.sign_mask());
  EXPECT_EQ(F.significand_mask(), (1U << f.significand_bits) - 1);
  EXPECT_EQ(F.max_code(), f.max_code());
  EXPECT_EQ(F.nan_code(), canonical_nan(f));
  EXPECT_EQ(F.is_truncated_binary32(), f.exponent_bits == 8 && f.is_signed);
  if (f.has_infinity) {
    EXPECT_EQ(F.infinity_code(), oracle::encode_infinity(f, false, oracle::policy::infinity));
  }
}

TYPED_TEST(format, has_the_published_extremes) {
  constexpr oracle::facts f = facts<TypeParam>;
  constexpr lowp::format F = TypeParam::descriptor;
  auto const value = [](std::uint32_t code) { return double{float{of_code<TypeParam>(code)}}; };
  EXPECT_EQ(value(F.max_code()), f.max_finite);
  EXPECT_EQ(value(F.min_normal_code()), f.min_normal);
  EXPECT_EQ(value(f.has_zero() ? 1 : 0), f.min_subnormal);
  EXPECT_EQ(F.max_exponent(), std::ilogb(f.max_finite));
  EXPECT_EQ(F.min_exponent(), std::ilogb(f.min_normal));
}

TYPED_TEST(format, value_is_its_code_and_nothing_else) {
  using T = TypeParam;
  static_assert(sizeof(T) == (facts<T>.bits() <= 8 ? 1 : 2) && alignof(T) == sizeof(T));
  static_assert(std::is_same_v<decltype(T{}.bits()), typename T::storage>);
  static_assert(std::is_unsigned_v<typename T::storage>);
  static_assert(std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T>);
  static_assert(std::is_trivially_default_constructible_v<T>);
  static_assert(std::is_same_v<T, lowp::basic_float<T::descriptor>>);
  static_assert(lowp::narrow<T> && lowp::element<T> && lowp::number<T>);
  EXPECT_TRUE(has_bits(T{}, 0));  // value-initialised is code 0, as for a float
}

TEST(format, says_why_it_cannot_be_computed_with) {
  using lowp::specials;
  using enum lowp::format_error;
  auto const error = [](lowp::format const& f) {
    EXPECT_EQ(f.is_valid(), f.error() == none);
    return f.error();
  };
  EXPECT_EQ(error({5, 10, 15}), none);
  EXPECT_EQ(error({0, 4, 0}), no_exponent_bits);
  EXPECT_EQ(error({-1, 4, 0}), no_exponent_bits);
  EXPECT_EQ(error({5, -1, 15}), negative_significand_bits);
  EXPECT_EQ(error({5, 11, 15}), more_than_16_bits);
  EXPECT_EQ(error({40, 2, 15}), more_than_16_bits);
  EXPECT_EQ(error({5, 40, 15}), more_than_16_bits);
  EXPECT_EQ(error({2, 13, 1}), none);
  EXPECT_EQ(error({1, 14, 0}), more_than_13_significand_bits);
  EXPECT_EQ(error({5, 0, 15}), signed_without_significand_bits);
  EXPECT_EQ(error({1, 0, 1, specials::p3109_extended}), no_value_above_zero);
  EXPECT_EQ(error({5, 0, 15, specials::ieee, false}), no_significand_bits_and_not_nan_all_ones);
  EXPECT_EQ(error({5, 0, 15, specials::nan_all_ones, false}), none);
  EXPECT_EQ(error({5, 2, 15, specials::ieee, false}), unsigned_with_significand_bits);
  EXPECT_EQ(error({5, 2, 15, specials::nan_negative_zero, false}), none);
  // Values are normal floats, but for bfloat16 and its kin and for powers of two.
  EXPECT_EQ(error({6, 9, 118}), none);
  EXPECT_EQ(error({6, 9, 119}), smallest_value_below_floats);
  EXPECT_EQ(error({8, 7, 128}), smallest_value_below_floats);
  EXPECT_EQ(error({8, 0, 128, specials::nan_all_ones, false}), smallest_value_below_floats);
  EXPECT_EQ(error({6, 9, -65}), none);
  EXPECT_EQ(error({6, 9, -66}), largest_value_above_floats);
  EXPECT_EQ(error({8, 0, 126, specials::nan_all_ones, false}), largest_value_above_floats);
  EXPECT_EQ(error({5, 2, -std::numeric_limits<int>::max()}), largest_value_above_floats);
  static_assert(!lowp::valid_format<lowp::format{5, 2, std::numeric_limits<int>::min()}>);
  static_assert(!lowp::valid_format<lowp::format{5, 2, std::numeric_limits<int>::max()}>);
}

}  // namespace
