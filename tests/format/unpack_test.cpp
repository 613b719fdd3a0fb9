// SPDX-License-Identifier: Apache-2.0
// double, long double and every integer type reach a narrow format in one rounding (A2).
#include <algorithm>
#include <cfloat>
#include <cmath>

#include "support/support.hpp"

namespace {

using namespace lowp_test;

template <class T, class X, class R>
void check(std::vector<X> const& points, R rounding, oracle::mode mode, char const* name,
           std::uint32_t r = 0) {
  for (named_policy const& policy : policies) {
    for (X const x : points) {
      std::uint32_t const expected =
          oracle::encode(facts<T>, oracle::from(x), mode, policy.policy, r);
      T const got = lowp::convert<T>(x, rounding, policy.overflow);
      ASSERT_TRUE(has_bits(got, expected, x, name, r, policy.name));
    }
  }
}

template <class T, class X>
void check_modes(std::vector<X> const& points) {
  for_each_mode([&](auto const& m) { check<T>(points, m.rounding, m.mode, m.name); });
  for (std::uint16_t const r : std::array<std::uint16_t, 4>{0, 0x1234, 0x8000, 0xffff}) {
    check<T>(points, lowp::stochastic_bits{r}, oracle::mode::stochastic, "stochastic", r);
  }
}

// x and its neighbours in X, of both signs: anything coarser than X on the way would merge them.
template <class X>
void add_around(std::vector<X>& points, X x) {
  constexpr X infinity = std::numeric_limits<X>::infinity();
  for (X const each : {x, std::nextafter(x, infinity), std::nextafter(x, -infinity)}) {
    points.push_back(each);
    points.push_back(-each);
  }
}

// A value, and the places between it and the next at which the result may change.
template <class X>
void add_steps(oracle::facts const& f, std::vector<X>& points, std::uint32_t code) {
  auto const at = [&](std::uint32_t c) {
    oracle::number const x = oracle::magnitude_value(f, c);
    return std::ldexp(static_cast<X>(static_cast<std::uint64_t>(x.significand)), x.exponent);
  };
  X const low = at(code);
  X const gap = at(code + 1) - low;
  add_around(points, low);
  add_around(points, low + gap / 2);
  // Numbers from which the draws 0, 0x1234 and 0xffff reach the neighbour.
  for (X const r : {X{0}, X{0x1234}, X{0xffff}}) {
    add_around(points, low + gap * (X{65535.5} - r) / 65536);
  }
}

template <class X>
std::vector<X> odd_ends() {
  using limits = std::numeric_limits<X>;
  std::vector<X> points{limits::infinity(), -limits::infinity(), limits::quiet_NaN(),
                        -limits::quiet_NaN()};
  for (X const x : {X{0}, X{1}, limits::min(), limits::max(), limits::denorm_min(), X{FLT_MAX},
                    X{FLT_MIN}, X{FLT_TRUE_MIN}, X{DBL_MAX}, X{DBL_TRUE_MIN}}) {
    points.push_back(x);
    points.push_back(-x);
  }
  return points;
}

template <class T>
class unpack : public testing::Test {};
TYPED_TEST_SUITE(unpack, kernel_formats, by_format);

template <class T, class X>
void check_floating() {
  // Sixteen bits of codes in steps: each binade is met with all its low bits.
  std::uint32_t const step = facts<T>.bits() == 16 ? 7 : 1;
  auto const top = static_cast<std::uint32_t>(facts<T>.max_code());
  std::vector<X> points = odd_ends<X>();
  for (std::uint32_t code = 0; code <= top + 1; code += step) add_steps(facts<T>, points, code);
  for (std::uint32_t const code : {top - 1, top, top + 1}) add_steps(facts<T>, points, code);
  check_modes<T>(points);
}

TYPED_TEST(unpack, rounds_doubles_once_at_every_boundary) { check_floating<TypeParam, double>(); }
TYPED_TEST(unpack, rounds_long_doubles_once_at_every_boundary) {
  check_floating<TypeParam, long double>();
}

TYPED_TEST(unpack, keeps_the_leading_payload_of_a_nan) {
  using T = TypeParam;
  std::vector<double> doubles;
  std::vector<long double> long_doubles;
  for (int bit = 0; bit < 52; ++bit) {
    for (std::uint64_t const head : {0x7ffULL, 0xfffULL}) {
      for (std::uint64_t const quiet : {0ULL, 1ULL << 51}) {
        doubles.push_back(std::bit_cast<double>(head << 52 | std::uint64_t{1} << bit | quiet));
        long_doubles.push_back(doubles.back());
      }
    }
  }
  check_modes<T>(doubles);
  check_modes<T>(long_doubles);
}

template <class I>
std::vector<I> integers_for(oracle::facts const& f) {
  using limits = std::numeric_limits<I>;
  std::vector<I> points{limits::min(), limits::max(), I{0}, I{1}};
  auto const add = [&](oracle::u128 magnitude) {
    if (magnitude > static_cast<oracle::u128>(limits::max())) return;
    points.push_back(static_cast<I>(magnitude));
    if constexpr (limits::is_signed) points.push_back(static_cast<I>(-static_cast<I>(magnitude)));
  };
  if (sizeof(I) <= 2) {
    for (unsigned i = 0; i < 65536; ++i) add(i);
    return points;
  }
  for (std::uint32_t code = 0; code <= f.max_code() + 1; ++code) {
    oracle::number const x = oracle::magnitude_value(f, code);
    if (x.exponent < 0 || x.exponent > 110) continue;
    oracle::u128 const value = x.significand << x.exponent;
    oracle::u128 const half_gap = (oracle::u128{1} << x.exponent) / 2;
    for (oracle::u128 const near : {value, value + half_gap}) {
      add(near - 1);
      add(near);
      add(near + 1);
    }
  }
  std::mt19937_64 random(17);
  for (int i = 0; i < 2000; ++i) {
    oracle::u128 const wide = static_cast<oracle::u128>(random()) << 64 | random();
    add(wide >> (random() % 128));
  }
  return points;
}

template <class T, class... I>
void check_integers() {
  auto const nearest = [](auto const& points) {
    check<T>(points, lowp::nearest_even{}, oracle::mode::nearest_even, "nearest_even");
  };
  (nearest(integers_for<I>(facts<T>)), ...);
}

TYPED_TEST(unpack, rounds_integers_of_every_type_once) {
  using T = TypeParam;
  check<T>(std::vector{false, true}, lowp::nearest_even{}, oracle::mode::nearest_even, "bool");
  check_integers<T, char, signed char, unsigned char, char8_t, char16_t, char32_t, wchar_t, short,
                 unsigned short, int, unsigned, long, unsigned long, long long>();
#if !defined(__STRICT_ANSI__)  // elsewhere they are no integral types
  check_integers<T, oracle::i128, oracle::u128>();
#endif
}

TYPED_TEST(unpack, rounds_integers_once_in_every_mode) {
  check_modes<TypeParam>(integers_for<std::int8_t>(facts<TypeParam>));
  check_modes<TypeParam>(integers_for<long long>(facts<TypeParam>));
  check_modes<TypeParam>(integers_for<unsigned long long>(facts<TypeParam>));
}

// Constant evaluation, and a long double of another kind, cannot read the parts from storage.
TEST(unpack, by_arithmetic_has_the_parts_of_storage) {
  std::vector<long double> points = odd_ends<long double>();
  std::mt19937_64 random(18);
  for (int i = 0; i < 2000; ++i) {
    int const exponent =
        LDBL_MIN_EXP - LDBL_MANT_DIG + static_cast<int>(random() % (LDBL_MAX_EXP - LDBL_MIN_EXP));
    add_around(points, std::ldexp(static_cast<long double>(random()), exponent - 64));
  }
  for (long double const x : points) {
    lowp::detail::unpacked const want = lowp::detail::unpack(x);
    lowp::detail::unpacked const got = lowp::detail::unpack_by_arithmetic(x);
    ASSERT_EQ(got.negative, want.negative) << x;
    ASSERT_EQ(got.infinite, want.infinite) << x;
    ASSERT_EQ(got.nan, want.nan) << x;
    ASSERT_EQ(got.exponent, want.exponent) << x;
    ASSERT_EQ(got.significand, want.significand) << x;
    ASSERT_EQ(got.payload, got.nan ? 0x80000000U : 0) << x;
  }
}

TEST(unpack, is_not_by_way_of_float) {
  // Just above half way from 0x3f80 to 0x3f81: a float would sit exactly there, and tie to even.
  EXPECT_EQ(lowp::bfloat16(0x1.01p0 + 0x1p-40).bits(), 0x3f81);
  EXPECT_EQ(lowp::bfloat16(static_cast<float>(0x1.01p0 + 0x1p-40)).bits(), 0x3f80);
  EXPECT_EQ(lowp::bfloat16(0x1.01p0L + 0x1p-62L).bits(), 0x3f81);
  // The same with integers: 2^25 + 2^17 + 1 has 26 bits.
  EXPECT_EQ(lowp::bfloat16((1 << 25) + (1 << 17) + 1).bits(), lowp::bfloat16(0x1.02p25).bits());
  EXPECT_EQ(lowp::bfloat16((1LL << 60) + (1LL << 52) + 1).bits(), lowp::bfloat16(0x1.02p60).bits());
  EXPECT_EQ(lowp::float16(static_cast<std::uint64_t>(2049) * 16 + 1).bits(),
            lowp::float16(2050 * 16).bits());
  EXPECT_EQ(lowp::convert<lowp::bfloat16>((oracle::u128{257} << 100) + 1).bits(),
            lowp::bfloat16(0x1.02p108).bits());
}

}  // namespace
