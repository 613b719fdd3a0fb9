// SPDX-License-Identifier: Apache-2.0
// The oracle's facts, conversions and segments, against what does not come from the oracle:
// published numbers and the processor's own conversions.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "segments.hpp"
#include "support.hpp"

namespace {

using namespace oracle;
using oracle_test::modes;
using oracle_test::policies;
using oracle_test::to_double;

void expect_extremes(facts const& f) {
  std::uint64_t const smallest_normal = f.has_zero() ? std::uint64_t{1} << f.significand_bits : 0;
  EXPECT_EQ(to_double(decode(f, f.max_code())), f.max_finite) << f.name;
  EXPECT_EQ(to_double(decode(f, smallest_normal)), f.min_normal) << f.name;
  EXPECT_EQ(to_double(decode(f, f.has_zero() ? 1 : 0)), f.min_subnormal) << f.name;
  EXPECT_NE(static_cast<int>(decode(f, f.max_code() + 1).what), static_cast<int>(kind::finite))
      << f.name;
}

TEST(oracle_facts, extremes_are_the_published_ones) {
  for (facts const& f : all) expect_extremes(f);
  expect_extremes(binary32);
  expect_extremes(binary64);
}

TEST(oracle_facts, special_codes_are_as_many_as_published) {
  struct census {
    facts const& f;
    int nans, infinities, zeros;
  };
  census const published[]{
      {float16, 2046, 2, 2},      {bfloat16, 254, 2, 2},      {float8_e5m2, 6, 2, 2},
      {float8_e4m3fn, 2, 0, 2},   {float8_e4m3, 14, 2, 2},    {float8_e3m4, 30, 2, 2},
      {float8_e4m3fnuz, 1, 0, 1}, {float8_e5m2fnuz, 1, 0, 1}, {float8_e4m3b11fnuz, 1, 0, 1},
      {float8_e8m0fnu, 1, 0, 0},  {float8_ue5m3, 1, 0, 1},    {float6_e2m3fn, 0, 0, 2},
      {float6_e3m2fn, 0, 0, 2},   {float4_e2m1fn, 0, 0, 2}};
  ASSERT_EQ(std::size(published), all.size());
  for (census const& c : published) {
    int nans = 0;
    int infinities = 0;
    int zeros = 0;
    for (std::uint32_t code = 0; code < 1U << c.f.bits(); ++code) {
      kind const what = decode(c.f, code).what;
      nans += what == kind::nan;
      infinities += what == kind::infinity;
      zeros += what == kind::zero;
    }
    EXPECT_EQ(nans, c.nans) << c.f.name;
    EXPECT_EQ(infinities, c.infinities) << c.f.name;
    EXPECT_EQ(zeros, c.zeros) << c.f.name;
  }
}

TEST(oracle_conversion, bfloat16_agrees_with_the_usual_integer_formula) {
  oracle_test::float_patterns patterns(3);
  for (int i = 0; i < 2000000; ++i) {
    std::uint32_t const x = patterns.next();
    if ((x & 0x7fffffffU) > 0x7f800000U) continue;
    std::uint32_t const expected = (x + 0x7fffU + (x >> 16 & 1U)) >> 16;
    ASSERT_EQ(encode(bfloat16, from_float_bits(x), mode::nearest_even, policy::infinity), expected)
        << std::hex << x;
  }
}

#if defined(__x86_64__)
template <int Rounding>
__attribute__((target("f16c"))) std::uint32_t hardware_half(std::uint32_t x) {
  __m128i const out =
      _mm_cvtps_ph(_mm_castsi128_ps(_mm_cvtsi32_si128(static_cast<int>(x))), Rounding);
  return static_cast<std::uint32_t>(_mm_cvtsi128_si32(out)) & 0xffffU;
}

__attribute__((target("f16c"))) std::uint32_t hardware_float(std::uint32_t code) {
  __m128 const out = _mm_cvtph_ps(_mm_cvtsi32_si128(static_cast<int>(code)));
  return static_cast<std::uint32_t>(_mm_cvtsi128_si32(_mm_castps_si128(out)));
}

TEST(oracle_conversion, float16_agrees_with_the_processor) {
  if (!oracle_test::has_f16c()) GTEST_SKIP() << "no F16C";
  for (std::uint32_t code = 0; code < 65536; ++code) {
    ASSERT_EQ(decode_to_float_bits(float16, code), hardware_float(code)) << std::hex << code;
  }
  auto const check = [](std::uint32_t x) {
    number const exact = from_float_bits(x);
    auto const code = [&](mode m) { return encode(float16, exact, m, policy::infinity); };
    ASSERT_EQ(code(mode::nearest_even), hardware_half<_MM_FROUND_TO_NEAREST_INT>(x)) << x;
    ASSERT_EQ(code(mode::downward), hardware_half<_MM_FROUND_TO_NEG_INF>(x)) << x;
    ASSERT_EQ(code(mode::upward), hardware_half<_MM_FROUND_TO_POS_INF>(x)) << x;
    ASSERT_EQ(code(mode::toward_zero), hardware_half<_MM_FROUND_TO_ZERO>(x)) << x;
  };
  for (std::uint64_t x = 0; x < std::uint64_t{1} << 32; x += 2039) {
    check(static_cast<std::uint32_t>(x));
  }
  oracle_test::float_patterns patterns(5);
  for (int i = 0; i < 500000 && !HasFatalFailure(); ++i) check(patterns.next());
}
#endif

__attribute__((noinline)) float narrowed(double x, int rounding) {
  std::fesetround(rounding);
  double volatile in = x;
  float const volatile out = static_cast<float>(in);
  std::fesetround(FE_TONEAREST);
  return out;
}

TEST(oracle_conversion, binary32_agrees_with_the_processor) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 1000000; ++i) {
    std::uint64_t bits = random();
    if (i % 2 == 0) {  // exponents that a float has, or nearly, and frequent ties
      bits = (bits & 0x800fffffffffffffU) | (random() % 300 + 860) << 52;
      bits &= ~std::uint64_t{0} << (random() % 40);
    }
    double const x = std::bit_cast<double>(bits);
    auto const check = [&](mode m, int rounding) {
      ASSERT_EQ(encode(binary32, from(x), m, policy::infinity),
                std::bit_cast<std::uint32_t>(narrowed(x, rounding)))
          << x;
    };
    check(mode::nearest_even, FE_TONEAREST);
    check(mode::upward, FE_UPWARD);
    check(mode::downward, FE_DOWNWARD);
    check(mode::toward_zero, FE_TOWARDZERO);
    if (HasFatalFailure()) return;
  }
}

TEST(oracle_conversion, other_sources_agree_with_the_language) {
  std::mt19937_64 random(8);
  auto const code = [](number const& x) {
    return encode(binary32, x, mode::nearest_even, policy::infinity);
  };
  auto const expected = [](auto x) { return std::bit_cast<std::uint32_t>(static_cast<float>(x)); };
  for (int i = 0; i < 300000; ++i) {
    int const drop = static_cast<int>(random() % 64);
    std::uint64_t const u = random() >> drop;
    auto const s = static_cast<std::int64_t>(random()) >> drop;
    i128 const wide = static_cast<i128>(static_cast<u128>(random()) << 64 | random()) >> (2 * drop);
    long double const precise = static_cast<long double>(u) / 4096 - static_cast<long double>(s);
    ASSERT_EQ(code(from(u)), expected(u)) << u;
    ASSERT_EQ(code(from(s)), expected(s)) << s;
    ASSERT_EQ(code(from(wide)), expected(wide)) << i;
    ASSERT_EQ(code(from(precise)), expected(precise)) << i;
  }
  EXPECT_EQ(code(from(static_cast<signed char>(-128))), expected(-128));
  EXPECT_EQ(code(from(true)), expected(1));
  EXPECT_EQ(code(from(INT64_MIN)), expected(INT64_MIN));
  EXPECT_EQ(code(from(HUGE_VALL)), expected(HUGE_VALL));
  EXPECT_EQ(code(from(-std::nanl(""))), expected(-std::nanl("")));
}

TEST(oracle_segments, partition_all_floats_and_agree_with_encode) {
  oracle_test::float_patterns patterns(9);
  std::uint64_t samples = 0;
  for (facts const& f : all) {
    for (mode const m : modes) {
      for (policy const p : policies) {
        auto const r = static_cast<std::uint32_t>(patterns.next() & 0xffffU);
        auto const check = [&](std::uint32_t bits, std::uint32_t code) {
          ASSERT_EQ(encode(f, from_float_bits(bits), m, p, r), code)
              << f.name << " mode " << static_cast<int>(m) << " r " << r << ' ' << std::hex << bits;
        };
        std::vector<std::uint32_t> firsts;
        std::vector<std::uint32_t> codes;
        std::uint64_t next = 0;
        for_each_segment(
            f, m, p,
            [&](std::uint32_t first, std::uint32_t last, std::uint32_t code) {
              ASSERT_EQ(first, next);
              ASSERT_LE(first, last);
              next = std::uint64_t{last} + 1;
              firsts.push_back(first);
              codes.push_back(code);
              check(first, code);
              check(last, code);
            },
            r);
        ASSERT_EQ(next, std::uint64_t{1} << 32);
        for (int i = 0; i < 16000; ++i, ++samples) {
          std::uint32_t const bits = patterns.next();
          auto const at = std::upper_bound(firsts.begin(), firsts.end(), bits) - firsts.begin() - 1;
          check(bits, codes[static_cast<std::size_t>(at)]);
        }
        if (HasFatalFailure()) return;
      }
    }
  }
  EXPECT_GE(samples, 2000000U);
}

}  // namespace
