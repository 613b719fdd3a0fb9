// SPDX-License-Identifier: Apache-2.0
// The functions of <cmath>. Those of one argument are tested for every code. Those of two are
// tested for every pair of a small format and for random pairs of large ones. long double has
// eleven more digits than the computation, so it says between which codes the exact result lies.
#include <cmath>

#include "support/support.hpp"

namespace {

using namespace lowp_test;
using lowp::bfloat16;
using lowp::float16;
using lowp::float8_e4m3fn;

using test_formats = testing::Types<float16, bfloat16, float8_e4m3fn, lowp::float8_e8m0fnu,
                                    lowp::float4_e2m1fn, user_e2m13>;
template <class T>
class cmath : public testing::Test {};
TYPED_TEST_SUITE(cmath, test_formats, by_format);

#if LDBL_MANT_DIG == 64

template <class T>
long double value(T x) {
  return value_of(facts<T>, x.bits());
}
template <class T>
std::uint32_t nearest(oracle::number const& x) {
  if (x.what == oracle::kind::nan) return canonical_nan(facts<T>);
  return oracle::encode(facts<T>, x, oracle::mode::nearest_even, oracle::default_policy(facts<T>));
}
// A number below the range of double is zero to a format that has no other small values.
template <class T>
std::uint32_t nearest(long double x) {
  if (!facts<T>.has_zero() && std::abs(x) < 0x1p-1074L) return canonical_nan(facts<T>);
  return nearest<T>(oracle::from(x));
}

// More than 8 ulps of double, and far more than long double's own error.
constexpr long double error = 0x1p-49L;

template <class T>
struct unary {
  char const* name;
  T (*narrow)(T);
  long double (*exact)(long double);
};
#define LOWP_UNARY(name)                                                           \
  unary<T> {                                                                       \
    #name, [](T x) { return name(x); }, [](long double x) { return std::name(x); } \
  }

// A result that is a tie as far as long double can tell is one: 2^n below the smallest subnormal.
TYPED_TEST(cmath, functions_of_one_argument_are_correctly_rounded) {
  using T = TypeParam;
  unary<T> const functions[]{
      LOWP_UNARY(exp),   LOWP_UNARY(exp2),  LOWP_UNARY(expm1), LOWP_UNARY(log),   LOWP_UNARY(log2),
      LOWP_UNARY(log10), LOWP_UNARY(log1p), LOWP_UNARY(cbrt),  LOWP_UNARY(sin),   LOWP_UNARY(cos),
      LOWP_UNARY(tan),   LOWP_UNARY(asin),  LOWP_UNARY(acos),  LOWP_UNARY(atan),  LOWP_UNARY(sinh),
      LOWP_UNARY(cosh),  LOWP_UNARY(tanh),  LOWP_UNARY(asinh), LOWP_UNARY(acosh), LOWP_UNARY(atanh),
      LOWP_UNARY(erf),   LOWP_UNARY(erfc)};
  for (unary<T> const& f : functions) {
    for (std::uint32_t code = 0; code < code_count<T>; ++code) {
      T const x = of_code<T>(code);
      long double const exact = f.exact(value(x));
      std::uint32_t const expected = nearest<T>(exact);
      ASSERT_TRUE(has_bits(f.narrow(x), expected, f.name, x));
      if (nearest<T>(exact * (1 - error)) == expected &&
          nearest<T>(exact * (1 + error)) == expected)
        continue;
      ASSERT_EQ(exact, static_cast<double>(exact)) << f.name << shown(x);
      ASSERT_EQ(exact, std::exp2(std::log2(exact))) << f.name << shown(x);
    }
  }
}

TYPED_TEST(cmath, functions_that_make_integers_are_exact) {
  using T = TypeParam;
  constexpr bool has_integers = facts<T>.is_signed && facts<T>.bias > facts<T>.significand_bits;
  unary<T> const functions[]{LOWP_UNARY(floor), LOWP_UNARY(ceil), LOWP_UNARY(trunc),
                             LOWP_UNARY(round), LOWP_UNARY(rint), LOWP_UNARY(nearbyint)};
  for (unary<T> const& f : functions) {
    for (std::uint32_t code = 0; code < code_count<T>; ++code) {
      T const x = of_code<T>(code);
      long double const exact = f.exact(value(x));
      ASSERT_TRUE(has_bits(f.narrow(x), nearest<T>(exact), f.name, x));
      if (isfinite(x) && has_integers) {
        ASSERT_EQ(value(f.narrow(x)), exact) << shown(x);
      }
    }
  }
}

TYPED_TEST(cmath, scaling_and_taking_apart_round_once) {
  using T = TypeParam;
  for (std::uint32_t code = 0; code < code_count<T>; ++code) {
    T const x = of_code<T>(code);
    for (int const n : {0, 1, -1, 7, -9, 30, -140, 260, -100000, 100000}) {
      oracle::number scaled = oracle::decode(facts<T>, code);
      if (scaled.what == oracle::kind::finite) scaled.exponent += n;
      if (std::abs(n) < 1000) {
        ASSERT_TRUE(has_bits(ldexp(x, n), nearest<T>(scaled), x, n));
      }
      ASSERT_EQ(ldexp(x, n).bits(), scalbn(x, n).bits());
      if (n == 100000 && scaled.what == oracle::kind::finite) {
        ASSERT_TRUE(has_bits(ldexp(x, n), nearest<T>(value(x) * HUGE_VALL), x, n));
      }
    }
    int exponent = 0;
    int expected_exponent = 0;
    T const fraction = frexp(x, &exponent);
    long double const exact = std::frexp(value(x), &expected_exponent);
    ASSERT_TRUE(has_bits(fraction, nearest<T>(exact), "frexp", x));
    if (isfinite(x)) {
      ASSERT_EQ(exponent, expected_exponent) << shown(x);
    }
    T whole;
    long double expected_whole = 0;
    T const rest = modf(x, &whole);
    long double const exact_rest = std::modf(value(x), &expected_whole);
    ASSERT_TRUE(has_bits(rest, nearest<T>(exact_rest), "modf", x));
    ASSERT_TRUE(has_bits(whole, nearest<T>(expected_whole), "modf", x));
    ASSERT_TRUE(has_bits(fabs(x), abs(x).bits(), "fabs", x));
  }
}

template <class T>
struct binary {
  char const* name;
  T (*narrow)(T, T);
  long double (*exact)(long double, long double);
};
#define LOWP_BINARY(name)                                            \
  binary<T> {                                                        \
    #name, [](T x, T y) { return name(x, y); },                      \
        [](long double x, long double y) { return std::name(x, y); } \
  }

// Calls fn for every pair of a small format, and for many of a large one.
template <class T, class Fn>
void for_pairs(Fn&& fn) {
  if constexpr (code_count<T> <= 256) {
    for (std::uint32_t a = 0; a < code_count<T>; ++a) {
      for (std::uint32_t b = 0; b < code_count<T>; ++b) fn(of_code<T>(a), of_code<T>(b));
    }
  } else {
    codes<T> random(5);
    for (int i = 0; i < 200'000; ++i) {
      T const a = random.next();
      fn(a, random.next());
    }
  }
}

// Between the codes of what is a little smaller and a little larger.
template <class T>
testing::AssertionResult is_near(T got, long double exact, char const* name, T x, T y) {
  if (std::isnan(exact)) return has_bits(got, canonical_nan(facts<T>), name, x, y);
  std::uint32_t const low = nearest<T>(exact * (1 - error));
  std::uint32_t const high = nearest<T>(exact * (1 + error));
  return has_bits(got, got.bits() == high ? high : low, name, x, y);
}

TYPED_TEST(cmath, functions_of_two_arguments_are_within_half_an_ulp_and_a_little) {
  using T = TypeParam;
  binary<T> const functions[]{LOWP_BINARY(pow), LOWP_BINARY(hypot), LOWP_BINARY(atan2),
                              LOWP_BINARY(fdim)};
  for (binary<T> const& f : functions) {
    for_pairs<T>([&](T x, T y) {
      ASSERT_TRUE(is_near(f.narrow(x, y), f.exact(value(x), value(y)), f.name, x, y));
    });
  }
}

TYPED_TEST(cmath, remainders_are_rounded_once) {
  using T = TypeParam;
  binary<T> const functions[]{LOWP_BINARY(fmod), LOWP_BINARY(remainder)};
  for (binary<T> const& f : functions) {
    for_pairs<T>([&](T x, T y) {
      long double const exact = f.exact(value(x), value(y));
      ASSERT_TRUE(has_bits(f.narrow(x, y), nearest<T>(exact), f.name, x, y));
    });
  }
}

TYPED_TEST(cmath, lerp_meets_its_ends_and_is_monotonic) {
  using T = TypeParam;
  for_pairs<T>([](T a, T b) {
    if (!isfinite(a) || !isfinite(b)) return;
    if constexpr (facts<T>.has_zero()) {
      ASSERT_EQ(value(lerp(a, b, T(0))), value(a)) << shown(a) << shown(b);
    }
    ASSERT_EQ(value(lerp(a, b, T(1))), value(b)) << shown(a) << shown(b);
    for (T const t : {std::numeric_limits<T>::max(), std::numeric_limits<T>::infinity()}) {
      T const far = lerp(a, b, t);
      if (isfinite(t) && value(a) == value(b)) {
        ASSERT_EQ(value(far), value(a)) << shown(a) << shown(t);
      } else if (facts<T>.has_infinity && value(a) != value(b)) {
        ASSERT_FALSE(isnan(far)) << shown(a) << shown(b) << shown(t);
      }
    }
    long double const middle = value(a) + (value(b) - value(a)) / 2;
    long double const slack = 0x1p-51L * (std::abs(value(a)) + std::abs(value(b)));
    T const got = lerp(a, b, T(0.5));
    T const low = of_code<T>(nearest<T>(middle - slack));
    T const high = of_code<T>(nearest<T>(middle + slack));
    ASSERT_TRUE(value(low) <= value(got) && value(got) <= value(high))
        << shown(a) << shown(b) << shown(got);
    long double before = value(a);
    for (double const t : {0.125, 0.25, 0.5, 1.0, 1.5, 2.0, 4.0}) {
      long double const now = value(lerp(a, b, T(t)));
      if (std::isnan(now)) break;  // where there is neither sign nor infinity
      ASSERT_TRUE(value(a) < value(b) ? before <= now : before >= now) << shown(a) << shown(b) << t;
      before = now;
    }
  });
}

#endif

template <class X>
concept has_exp = requires(X x) { exp(x); };
template <class X, class Y>
concept has_pow = requires(X x, Y y) { pow(x, y); };

TEST(cmath_lookup, is_found_for_the_value_types_only) {
  static_assert(std::same_as<decltype(exp(bfloat16())), bfloat16>);
  static_assert(std::same_as<decltype(pow(float16(), float16())), float16>);
  static_assert(has_exp<float16> && has_pow<float16, float16>);
  // lowp is a namespace that these are looked up in as well.
  static_assert(!has_exp<std::vector<bfloat16>> && !has_exp<lowp::nearest_even>);
  static_assert(!has_exp<bfloat16*> && !has_pow<std::vector<bfloat16>, bfloat16>);
  // A double makes a double, as of std::bfloat16_t in C++23.
  static_assert(std::same_as<decltype(pow(bfloat16(), 2.0)), double>);
  static_assert(std::same_as<decltype(atan2(2.0, bfloat16())), double>);
  EXPECT_EQ(pow(bfloat16(3), 0.5), std::pow(3.0, 0.5));
  EXPECT_EQ(pow(0.1, bfloat16(3)), std::pow(0.1, 3.0));
  EXPECT_EQ(exp(bfloat16(0)), 1);
  EXPECT_EQ(pow(bfloat16(3), bfloat16(2)), 9);
  EXPECT_EQ(floor(float8_e4m3fn(-1.5f)), -2);
  EXPECT_EQ(lerp(bfloat16(1), bfloat16(3), bfloat16(0.25f)), 1.5f);
}

}  // namespace
