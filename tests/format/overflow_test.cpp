// SPDX-License-Identifier: Apache-2.0
// The edge of the range in every mode under both policies (A3), from the typed extremes alone. A
// range that starts at zero has another edge there.
#include <cfloat>
#include <cmath>

#include "support/support.hpp"

namespace {

using namespace lowp_test;

// The result of a positive x at least as large as the largest finite value, in words.
enum class result { largest, beyond };

struct edge {
  double largest;
  double half_way;  // from the largest finite value to where the grid would continue
  bool largest_is_odd;
  bool infinity_is_odd;  // only P3109's is
};

template <class T>
edge edge_of() {
  double const largest = facts<T>.max_finite;
  double const gap = std::ldexp(1.0, std::ilogb(largest) - facts<T>.significand_bits);
  bool const is_odd = facts<T>.max_code() % 2 == 1;
  return {largest, largest + gap / 2, is_odd, facts<T>.has_infinity && !is_odd};
}

result expected_result(edge const& e, double size, bool negative, oracle::mode m) {
  if (size == e.largest) return result::largest;
  auto const beyond_if = [](bool condition) {
    return condition ? result::beyond : result::largest;
  };
  switch (m) {
    case oracle::mode::nearest_even:
      return beyond_if(size > e.half_way || (size == e.half_way && e.largest_is_odd));
    case oracle::mode::nearest_away:
      return beyond_if(size >= e.half_way);
    case oracle::mode::upward:
      return beyond_if(!negative);
    case oracle::mode::downward:
      return beyond_if(negative);
    case oracle::mode::to_odd:
      return beyond_if(e.infinity_is_odd);
    default:
      return result::largest;  // toward_zero
  }
}

// The result beyond the range: infinity, or NaN without one, or the largest value without either.
template <class T>
std::uint32_t code_beyond(oracle::policy p) {
  auto const largest = static_cast<std::uint32_t>(facts<T>.max_code());
  if (p == oracle::policy::saturate || (!facts<T>.has_infinity && !facts<T>.has_nan())) {
    return largest;
  }
  return facts<T>.has_infinity ? largest + 1 : canonical_nan(facts<T>);
}

template <class T>
std::uint32_t signed_code(std::uint32_t code, bool negative, bool gives_zero) {
  if (!negative) return code;
  if (facts<T>.has_zero() && !facts<T>.is_signed && gives_zero) return 0;
  return facts<T>.is_signed ? code | static_cast<std::uint32_t>(facts<T>.sign_mask())
                            : canonical_nan(facts<T>);
}

template <class T>
class overflow : public testing::Test {};
TYPED_TEST_SUITE(overflow, every_format, by_format);

template <class T, class X, class R>
void check_edge(named_mode<R> const& m, named_policy const& policy, X size) {
  for (bool const negative : {false, true}) {
    X const x = negative ? -size : size;
    bool const beyond = expected_result(edge_of<T>(), static_cast<double>(size), negative,
                                        m.mode) == result::beyond;
    std::uint32_t const code =
        beyond ? code_beyond<T>(policy.policy) : static_cast<std::uint32_t>(facts<T>.max_code());
    T const got = lowp::convert<T>(x, m.rounding, policy.overflow);
    bool const gives_zero = policy.policy == oracle::policy::saturate ||
                            m.mode == oracle::mode::toward_zero || m.mode == oracle::mode::upward;
    ASSERT_TRUE(has_bits(got, signed_code<T>(code, negative, gives_zero), x, m.name, policy.name));
  }
}

TYPED_TEST(overflow, begins_where_the_mode_says) {
  using T = TypeParam;
  edge const e = edge_of<T>();
  auto const check_all = [](auto const& m, named_policy const& policy, auto... sizes) {
    (check_edge<T>(m, policy, sizes), ...);
  };
  for (named_policy const& policy : policies) {
    for_each_mode([&](auto const& m) {
      auto const far = static_cast<double>(HUGE_VALF) > 0 ? 2.5 * e.largest : 0;
      check_all(m, policy, e.largest, std::nextafter(e.largest, HUGE_VAL),
                std::nextafter(e.half_way, 0.0), e.half_way, std::nextafter(e.half_way, HUGE_VAL),
                far, 2 * e.largest, DBL_MAX);
      auto const largest = static_cast<float>(e.largest);
      auto const half_way = static_cast<float>(e.half_way);
      check_all(m, policy, largest, std::nextafter(largest, HUGE_VALF),
                std::nextafter(half_way, 0.0f), half_way, FLT_MAX);
      // Every float beyond bfloat16's and float8_e8m0fnu's half way is there too.
      if (half_way < FLT_MAX / 2) check_edge<T>(m, policy, std::nextafter(half_way, HUGE_VALF));
    });
  }
}

TYPED_TEST(overflow, of_infinity_does_not_depend_on_the_mode) {
  using T = TypeParam;
  for (named_policy const& policy : policies) {
    for_each_mode([&](auto const& m) {
      for (bool const negative : {false, true}) {
        std::uint32_t const code = signed_code<T>(code_beyond<T>(policy.policy), negative,
                                                  policy.policy == oracle::policy::saturate);
        float const x = negative ? -HUGE_VALF : HUGE_VALF;
        EXPECT_TRUE(has_bits(lowp::convert<T>(x, m.rounding, policy.overflow), code, x, m.name));
        EXPECT_TRUE(
            has_bits(lowp::convert<T>(double{x}, m.rounding, policy.overflow), code, x, m.name));
      }
    });
  }
}

TYPED_TEST(overflow, never_loses_a_nan) {
  using T = TypeParam;
  for (lowp::overflow const policy : {lowp::overflow::infinity, lowp::overflow::saturate}) {
    for (std::uint32_t bits = 0x7f800001U; bits < 0x80000000U; bits += 0x1235U) {
      for (std::uint32_t const sign : {0U, 0x80000000U}) {
        T const got = lowp::convert<T>(float_of(bits | sign), lowp::toward_zero{}, policy);
        if (facts<T>.has_nan()) {
          ASSERT_TRUE(isnan(got)) << shown(got) << ' ' << hex(bits | sign, 8);
        } else {
          ASSERT_TRUE(has_bits(got, canonical_nan(facts<T>), float_of(bits | sign)));
        }
      }
    }
  }
}

TYPED_TEST(overflow, default_is_infinity_for_formats_that_have_one) {
  using T = TypeParam;
  static_assert(lowp::default_overflow<T> ==
                (facts<T>.has_infinity ? lowp::overflow::infinity : lowp::overflow::saturate));
  std::uint32_t const beyond = code_beyond<T>(oracle::default_policy(facts<T>));
  EXPECT_TRUE(has_bits(T(HUGE_VALF), beyond, "infinity"));
  EXPECT_TRUE(has_bits(T(1e300), beyond, "1e300"));
}

TEST(overflow, thresholds_by_name) {
  using lowp::convert;
  EXPECT_EQ(lowp::float16(65519.0f), lowp::float16(65504));
  EXPECT_TRUE(isinf(lowp::float16(65520.0f)));
  EXPECT_EQ(lowp::float16(65504) + 15, lowp::float16(65504));
  EXPECT_TRUE(isinf(lowp::float16(65504) + 16));
  auto const to_e4m3fn = [](float x) {
    return convert<lowp::float8_e4m3fn>(x, lowp::nearest_even{}, lowp::overflow::infinity);
  };
  EXPECT_EQ(to_e4m3fn(464.0f).bits(), 0x7e);  // a tie, and 448 is even
  EXPECT_EQ(to_e4m3fn(465.0f).bits(), 0x7f);
  EXPECT_EQ(to_e4m3fn(-465.0f).bits(), 0xff);
  EXPECT_EQ(lowp::float8_e4m3fn(1e9f).bits(), 0x7e);
  EXPECT_EQ(lowp::float8_e5m2(61439.0f).bits(), 0x7b);
  EXPECT_EQ(lowp::float8_e5m2(61440.0f).bits(), 0x7c);
  EXPECT_EQ(lowp::float4_e2m1fn(-1e9f).bits(), 0xf);
}

}  // namespace
