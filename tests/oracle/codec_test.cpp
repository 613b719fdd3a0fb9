// SPDX-License-Identifier: Apache-2.0
// The oracle's codec, against codes and rules written out, and a search through the values.
#include "codec.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "support.hpp"

namespace {

using namespace oracle;
using oracle_test::modes;
using oracle_test::to_double;

TEST(oracle_codec, some_codes_written_out) {
  struct sample {
    facts const& f;
    std::uint32_t code;
    float value;
  };
  sample const samples[]{{float16, 0x3c00, 1.0f},          {float16, 0xc248, -3.140625f},
                         {bfloat16, 0x4049, 3.140625f},    {float8_e5m2, 0x3c, 1.0f},
                         {float8_e5m2, 0xc3, -3.5f},       {float8_e4m3fn, 0x38, 1.0f},
                         {float8_e4m3fn, 0xfd, -416.0f},   {float8_e4m3, 0x38, 1.0f},
                         {float8_e3m4, 0x30, 1.0f},        {float8_e3m4, 0x31, 1.0625f},
                         {float8_e4m3fnuz, 0x40, 1.0f},    {float8_e5m2fnuz, 0x40, 1.0f},
                         {float8_e4m3b11fnuz, 0x58, 1.0f}, {float8_e8m0fnu, 0x7f, 1.0f},
                         {float8_e8m0fnu, 0x80, 2.0f},     {float6_e2m3fn, 0x08, 1.0f},
                         {float6_e2m3fn, 0x27, -0.875f},   {float6_e3m2fn, 0x0c, 1.0f},
                         {float6_e3m2fn, 0x1e, 24.0f},     {float4_e2m1fn, 0x01, 0.5f},
                         {float4_e2m1fn, 0x0d, -3.0f},     {float4_e2m1fn, 0x07, 6.0f},
                         {float8_ue5m3, 0x78, 1.0f},       {float8_ue5m3, 0xfe, 114688.0f}};
  for (sample const& s : samples) {
    EXPECT_EQ(decode_to_float_bits(s.f, s.code), std::bit_cast<std::uint32_t>(s.value)) << s.f.name;
    for (mode const m : modes) {
      EXPECT_EQ(encode(s.f, from(s.value), m, policy::infinity), s.code) << s.f.name;
    }
  }
}

TEST(oracle_codec, every_code_survives_a_round_trip) {
  for (facts const& f : all) {
    for (mode const m : modes) {
      for (std::uint32_t code = 0; code < 1U << f.bits(); ++code) {
        bool overflowed = true;
        std::uint32_t const quieted = decode(f, code).what == kind::nan && f.nans == nan_rule::ieee
                                          ? code | 1U << (f.significand_bits - 1)
                                          : code;
        number const x = from_float_bits(decode_to_float_bits(f, code));
        ASSERT_EQ(encode(f, x, m, policy::infinity, 65535, &overflowed), quieted)
            << f.name << ' ' << code;
        ASSERT_FALSE(overflowed);
      }
    }
  }
}

// A search through the table of values, in double: exact for these formats and this range.
std::uint32_t by_search(facts const& f, std::vector<double> const& values, double x, mode m,
                        std::uint32_t r) {
  double const size = std::fabs(x);
  bool const negative = std::signbit(x);
  auto const above = std::lower_bound(values.begin(), values.end(), size);
  auto code = static_cast<std::uint32_t>(above - values.begin());
  if (*above != size) {
    double const away = (size - above[-1]) / (*above - above[-1]);
    bool const above_is_even = code % 2 == 0;
    bool up = false;
    if (m == mode::nearest_even) up = away > 0.5 || (away == 0.5 && above_is_even);
    if (m == mode::nearest_away) up = away >= 0.5;
    if (m == mode::upward) up = !negative;
    if (m == mode::downward) up = negative;
    if (m == mode::to_odd) up = !above_is_even;
    if (m == mode::stochastic) up = std::floor(away * 65536 + 0.5) + r >= 65536;
    if (!up) --code;
  }
  if (code == 0 && !f.has_negative_zero()) return 0;
  return negative ? code | static_cast<std::uint32_t>(f.sign_mask()) : code;
}

TEST(oracle_codec, every_mode_agrees_with_a_search_through_the_values) {
  std::mt19937_64 random(11);
  for (facts const& f : all) {
    if (f.bits() == 16 || !f.is_signed) continue;
    std::vector<double> values;
    for (std::uint64_t code = 0; code <= f.max_code(); ++code) {
      values.push_back(to_double(decode(f, code)));
    }
    for (int i = 0; i < 40000; ++i) {
      std::uint64_t const bits = random();
      int const keep = static_cast<int>(bits % 24);  // few bits make ties frequent
      double const size = std::ldexp(static_cast<double>(bits >> 40 >> keep << keep),
                                     static_cast<int>(bits >> 30 & 31) - 40);
      double const x = bits >> 36 & 1 ? -size : size;
      if (size > f.max_finite) continue;
      auto const r = static_cast<std::uint32_t>(bits >> 10 & 0xffff);
      for (mode const m : modes) {
        ASSERT_EQ(encode(f, from(x), m, policy::infinity, r), by_search(f, values, x, m, r))
            << f.name << ' ' << x << " mode " << static_cast<int>(m) << " r " << r;
      }
    }
  }
}

// The draws that round away from zero. A lambda would be constexpr, and g++ would count while it
// compiles.
int moved(facts const& f, double x) {
  int count = 0;
  std::uint32_t const toward_zero = encode(f, from(x), mode::toward_zero, policy::infinity);
  for (std::uint32_t r = 0; r < 65536; ++r)
    count += encode(f, from(x), mode::stochastic, policy::infinity, r) != toward_zero;
  return count;
}
TEST(oracle_codec, stochastic_counts_are_exact_in_sixteen_bits_and_rounded_beyond) {
  EXPECT_EQ(moved(bfloat16, 1 + 0x1p-7 * 12345 / 65536), 12345);
  EXPECT_EQ(moved(bfloat16, -0x1p-133 * 0.75), 49152);
  EXPECT_EQ(moved(float8_e5m2, 0x1p-17), 32768);
  EXPECT_EQ(moved(float8_e4m3fn, 1 + 0x1p-3 * 0x1p-17), 1);    // half of 2^-16 goes up
  EXPECT_EQ(moved(float8_e4m3fn, 1 + 0x1p-3 * 0x1.8p-18), 0);  // less does not
  EXPECT_EQ(moved(float8_e4m3fn, 1.125 - 0x1p-3 * 0x1p-17), 65536);
  EXPECT_EQ(moved(float8_e8m0fnu, 1.25), 16384);
}

TEST(oracle_codec, overflow_follows_mode_and_policy) {
  constexpr auto inf = policy::infinity;
  constexpr auto sat = policy::saturate;
  struct sample {
    facts const& f;
    double x;
    mode m;
    policy p;
    std::uint32_t code;
    bool overflowed;
  };
  double const infinite = HUGE_VAL;
  sample const samples[]{
      {float8_e4m3fn, 464, mode::nearest_even, inf, 0x7e, false},  // the tie goes to even 448
      {float8_e4m3fn, 464, mode::nearest_away, inf, 0x7f, true},
      {float8_e4m3fn, -464, mode::nearest_away, inf, 0xff, true},
      {float8_e4m3fn, 465, mode::nearest_even, inf, 0x7f, true},
      {float8_e4m3fn, 465, mode::nearest_even, sat, 0x7e, true},
      {float8_e4m3fn, 479, mode::toward_zero, inf, 0x7e, false},
      {float8_e4m3fn, 480, mode::toward_zero, inf, 0x7e, true},
      {float8_e4m3fn, 449, mode::to_odd, inf, 0x7e, true},  // 480 is odd
      {float8_e4m3fn, 449, mode::upward, inf, 0x7f, true},
      {float8_e4m3fn, -449, mode::upward, inf, 0xfe, false},
      {float8_e4m3fn, -1e9, mode::upward, inf, 0xfe, true},
      {float8_e4m3fn, 1e9, mode::downward, inf, 0x7e, true},
      {float8_e4m3fn, infinite, mode::toward_zero, inf, 0x7f, false},
      {float8_e4m3fn, -infinite, mode::nearest_even, sat, 0xfe, false},
      {float16, 65519, mode::nearest_even, inf, 0x7bff, false},
      {float16, 65520, mode::nearest_even, inf, 0x7c00, true},
      {float16, 65519, mode::to_odd, inf, 0x7bff, false},
      {float16, 65536, mode::to_odd, inf, 0x7bff, true},
      {float16, -1e300, mode::downward, inf, 0xfc00, true},
      {float16, -1e300, mode::stochastic, inf, 0xfc00, true},
      {float16, -1e300, mode::stochastic, sat, 0xfbff, true},
      {float16, infinite, mode::upward, sat, 0x7bff, false},
      {float8_e4m3fnuz, -1e9, mode::nearest_even, inf, 0x80, true},
      {float8_e4m3fnuz, -1e-9, mode::nearest_even, inf, 0x00, false},
      {float8_e4m3fnuz, -1e-9, mode::downward, inf, 0x81, false},
      {float4_e2m1fn, -7, mode::nearest_even, inf, 0x0f, true},  // neither infinity nor NaN
      {float4_e2m1fn, infinite, mode::nearest_even, inf, 0x07, false},
      {float8_e8m0fnu, 0, mode::nearest_even, sat, 0xff, false},
      {float8_e8m0fnu, -2, mode::nearest_even, sat, 0xff, false},
      {float8_e8m0fnu, -infinite, mode::nearest_even, sat, 0xff, false},
      {float8_e8m0fnu, infinite, mode::nearest_even, sat, 0xfe, false},
      {float8_e8m0fnu, infinite, mode::nearest_even, inf, 0xff, false},
      {float8_e8m0fnu, 0x1p-1074, mode::toward_zero, sat, 0x00, false},
      {float8_e8m0fnu, 0x1.8p0, mode::nearest_even, sat, 0x80, false},  // ties: even codes
      {float8_e8m0fnu, 0x1.8p1, mode::nearest_even, sat, 0x80, false},
      {float8_e8m0fnu, 0x1.8p127, mode::nearest_even, sat, 0xfe, false},
      {float8_e8m0fnu, 0x1.8p127, mode::nearest_away, sat, 0xfe, true},
      {float8_e8m0fnu, 0x1.cp127, mode::nearest_even, inf, 0xff, true}};
  for (sample const& s : samples) {
    bool overflowed = !s.overflowed;
    EXPECT_EQ(encode(s.f, from(s.x), s.m, s.p, 0, &overflowed), s.code)
        << s.f.name << ' ' << s.x << " mode " << static_cast<int>(s.m);
    EXPECT_EQ(overflowed, s.overflowed) << s.f.name << ' ' << s.x;
  }
}

TEST(oracle_codec, nan_keeps_what_the_format_can_hold) {
  auto const code = [](facts const& f, std::uint32_t bits) {
    return encode(f, from_float_bits(bits), mode::nearest_even, policy::saturate);
  };
  EXPECT_EQ(code(bfloat16, 0x7f800001), 0x7fc0U);
  EXPECT_EQ(code(bfloat16, 0xffa55555), 0xffe5U);
  EXPECT_EQ(code(float16, 0x7fffffff), 0x7fffU);
  EXPECT_EQ(code(float8_e5m2, 0xffa00000), 0xffU);
  EXPECT_EQ(code(float8_e4m3fn, 0xff800001), 0xffU);
  EXPECT_EQ(code(float8_e4m3fnuz, 0x7fc00000), 0x80U);
  EXPECT_EQ(code(float8_e8m0fnu, 0xffc00000), 0xffU);
  EXPECT_EQ(code(float6_e2m3fn, 0x7fc00000), 0x20U);
  EXPECT_EQ(code(float4_e2m1fn, 0xffc00000), 0x08U);
  EXPECT_EQ(decode_to_float_bits(bfloat16, 0x7f81), 0x7f810000U);
  EXPECT_EQ(decode_to_float_bits(float8_e5m2, 0xfd), 0xffe00000U);
  EXPECT_EQ(decode_to_float_bits(float8_e4m3fn, 0xff), 0xffc00000U);
  EXPECT_EQ(decode_to_float_bits(float8_e4m3fnuz, 0x80), 0x7fc00000U);
  EXPECT_EQ(decode_to_float_bits(float8_e8m0fnu, 0xff), 0x7fc00000U);
}

}  // namespace
