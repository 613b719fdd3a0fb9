// SPDX-License-Identifier: Apache-2.0
// The oracle's arithmetic and random bits, against the processor, the published answers of
// Random123, and numbers worked out by hand.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>

#include "philox.hpp"
#include "softfloat.hpp"
#include "support.hpp"

namespace {

using namespace oracle;
using oracle_test::bits;
using oracle_test::said;
using oracle_test::value;

TEST(oracle_softfloat, binary32_agrees_with_the_processor) {
  oracle_test::float_patterns patterns(21);
  for (int i = 0; i < 3000000; ++i) {
    std::uint32_t const a = patterns.next();
    std::uint32_t const b = patterns.next();
    ASSERT_EQ(f32_add(a, b), said(value(a) + value(b))) << std::hex << a << ' ' << b;
    ASSERT_EQ(f32_sub(a, b), said(value(a) - value(b))) << std::hex << a << ' ' << b;
    ASSERT_EQ(f32_mul(a, b), said(value(a) * value(b))) << std::hex << a << ' ' << b;
    ASSERT_EQ(f32_div(a, b), said(value(a) / value(b))) << std::hex << a << ' ' << b;
    ASSERT_EQ(f32_sqrt(a), said(std::sqrt(value(a)))) << std::hex << a;
  }
}

TEST(oracle_softfloat, fma_agrees_with_the_language) {
  oracle_test::float_patterns patterns(22);
  for (int i = 0; i < 3000000; ++i) {
    std::uint32_t const a = patterns.next();
    std::uint32_t const b = patterns.next();
    std::uint32_t c = patterns.next();
    // Operands near cancellation, and far below: there a second rounding would show.
    if (i % 4 == 1) c = bits(-(value(a) * value(b))) + (c & 1);
    if (i % 4 == 2) c = bits(value(a) * value(b) * 0x1p-24f) ^ (c & 0x80000000U);
    ASSERT_EQ(f32_fma(a, b, c), said(std::fma(value(a), value(b), value(c))))
        << std::hex << a << ' ' << b << ' ' << c;
  }
}

TEST(oracle_softfloat, binary64_agrees_with_the_processor) {
  std::mt19937_64 random(23);
  auto const same = [](std::uint64_t oracle_bits, double x) {
    auto const hardware = std::bit_cast<std::uint64_t>(x);
    return std::isnan(x) ? oracle_bits == 0x7ff8000000000000U : oracle_bits == hardware;
  };
  for (int i = 0; i < 1000000; ++i) {
    std::uint64_t a = random();
    std::uint64_t b = random();
    if (i % 2 == 0) {
      a = (a & 0x80ffffffffffffffU) | 0x3f00000000000000U;
      b = (b & 0x80ffffffffffffffU) | 0x3f00000000000000U;
    }
    double const x = std::bit_cast<double>(a);
    double const y = std::bit_cast<double>(b);
    ASSERT_TRUE(same(f64_sub(a, b), x - y)) << x << ' ' << y;
    ASSERT_TRUE(same(f64_mul(a, b), x * y)) << x << ' ' << y;
    ASSERT_TRUE(same(f64_div(a, b), x / y)) << x << ' ' << y;
    ASSERT_TRUE(same(f64_sqrt(a), std::sqrt(x))) << x;
  }
}

// Double holds these sums, products and fused results of two narrow values exactly. For quotients
// and roots (and sums of two powers of two) it has enough digits: 53 >= 2 * 11 + 2. So a second
// rounding cannot matter.
TEST(oracle_arithmetic, narrow_results_agree_with_double) {
  std::mt19937_64 random(24);
  for (facts const& f : all) {
    if (f.exponent_bits == 8 && f.has_zero()) continue;  // its sums do not fit a double
    auto const to_double = [&](std::uint32_t code) {
      return static_cast<double>(value(decode_to_float_bits(f, code)));
    };
    auto const rounded = [&](double x) {
      number const exact = std::isnan(x) ? make_nan() : from(x);
      return encode(f, exact, mode::nearest_even, default_policy(f));
    };
    std::uint32_t const codes = 1U << f.bits();
    std::uint32_t const pairs = f.bits() == 16 ? 400000 : codes * codes;
    for (std::uint32_t i = 0; i < pairs; ++i) {
      auto const any = static_cast<std::uint32_t>(random());
      std::uint32_t const a = f.bits() == 16 ? any & 0xffffU : i / codes;
      std::uint32_t const b = f.bits() == 16 ? any >> 16 : i % codes;
      auto const c = static_cast<std::uint32_t>(random()) & (codes - 1);
      double const x = to_double(a);
      double const y = to_double(b);
      ASSERT_EQ(arithmetic(f, op::add, a, b), rounded(x + y)) << f.name << ' ' << x << ' ' << y;
      ASSERT_EQ(arithmetic(f, op::subtract, a, b), rounded(x - y))
          << f.name << ' ' << x << ' ' << y;
      ASSERT_EQ(arithmetic(f, op::multiply, a, b), rounded(x * y))
          << f.name << ' ' << x << ' ' << y;
      ASSERT_EQ(arithmetic(f, op::divide, a, b), rounded(x / y)) << f.name << ' ' << x << ' ' << y;
      ASSERT_EQ(sqrt(f, a), rounded(std::sqrt(x))) << f.name << ' ' << x;
      if (f.bits() < 16) {
        ASSERT_EQ(fma(f, a, b, c), rounded(std::fma(x, y, to_double(c))))
            << f.name << ' ' << x << ' ' << y << ' ' << to_double(c);
      }
    }
  }
}

TEST(oracle_arithmetic, corners_written_out) {
  EXPECT_EQ(arithmetic(float8_e4m3fn, op::divide, 0x38, 0x00), 0x7eU);  // 1/0 saturates
  EXPECT_EQ(arithmetic(float8_e4m3fn, op::divide, 0xb8, 0x00), 0xfeU);
  EXPECT_EQ(arithmetic(float8_e4m3fn, op::divide, 0x00, 0x80), 0x7fU);
  EXPECT_EQ(arithmetic(float8_e4m3fnuz, op::divide, 0x00, 0x00), 0x80U);
  EXPECT_EQ(arithmetic(float4_e2m1fn, op::divide, 0x00, 0x00), 0x08U);
  EXPECT_EQ(arithmetic(float16, op::divide, 0xbc00, 0x0000), 0xfc00U);
  EXPECT_EQ(arithmetic(float16, op::subtract, 0x7c00, 0x7c00), 0x7e00U);
  EXPECT_EQ(arithmetic(float16, op::add, 0xfd01, 0x3c00), 0x7e00U);
  EXPECT_EQ(arithmetic(float8_e8m0fnu, op::subtract, 0x7f, 0x7f), 0xffU);  // it has no zero
  EXPECT_EQ(arithmetic(float8_e8m0fnu, op::add, 0x80, 0x7f), 0x80U);       // 3: tie of 2 and 4
  EXPECT_EQ(arithmetic(bfloat16, op::add, 0x7f7f, 0x0001), 0x7f7fU);
  EXPECT_EQ(sqrt(bfloat16, 0x8000), 0x8000U);
  EXPECT_EQ(sqrt(bfloat16, 0xbf80), 0x7fc0U);
  // 3 * (1 + 2^-7) is a tie. An addend of -2^-133 breaks it, but is lost to whoever rounds the sum
  // to float first.
  EXPECT_EQ(fma(bfloat16, 0x4040, 0x3f81, 0x0000), 0x4042U);
  EXPECT_EQ(fma(bfloat16, 0x4040, 0x3f81, 0x8001), 0x4041U);
}

TEST(oracle_philox, answers_of_random123) {
  constexpr std::uint32_t ones = 0xffffffffU;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (philox_counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({ones, ones, ones, ones}, {ones, ones}),
            (philox_counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (philox_counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(oracle_philox, the_bits_of_an_element) {
  constexpr std::array<std::uint32_t, 8> first{0xe8d5, 0xc58d, 0xac4c, 0xdbd8,
                                               0x6627, 0xe169, 0xbc57, 0x9b00};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(random16(0, 0, i, 0), first[i]);
  EXPECT_NE(random16(0, 0, 8, 0), first[0]);
  // The third known answer again: its block number 0x85a308d3243f6a88 is draw 4 of a smaller one.
  std::uint64_t const index = 0x05a308d3243f6a88U * 8;
  EXPECT_EQ(random16(0x299f31d0a4093822U, 0x0370734413198a2eU, index + 0, 4), 0xfe09U);
  EXPECT_EQ(random16(0x299f31d0a4093822U, 0x0370734413198a2eU, index + 6, 4), 0x5001U);
  EXPECT_EQ(stream_of(5, 0x1234567890U), 0x534567890U);
}

// Computed in Python by the text of A7b.
TEST(oracle_philox, the_bits_of_an_element_from_its_key) {
  auto const bits = [](std::uint64_t index) { return random16(0, 0, index, 0, generator::keyed); };
  EXPECT_EQ(bits(0), 0x4d33U);
  EXPECT_EQ(bits(1), 0x1218U);
  EXPECT_EQ(bits(2), 0xf658U);
  EXPECT_EQ(bits(3), 0xd9b6U);
  EXPECT_EQ(bits(64), 0xd1f8U);
  EXPECT_EQ(bits(127), 0xf3b9U);
  EXPECT_EQ(bits(128), 0x0bf7U);
  auto const other = [](std::uint64_t index, unsigned draw) {
    return random16(0x299f31d0a4093822U, 0x0370734413198a2eU, index, draw, generator::keyed);
  };
  EXPECT_EQ(other(0, 0), 0x8906U);
  EXPECT_EQ(other(~std::uint64_t{0}, 1), 0x795cU);
  EXPECT_EQ(other(1000, 2), 0xae58U);
  EXPECT_EQ(other((std::uint64_t{1} << 40) + 77, 0), 0x8709U);
}

}  // namespace
