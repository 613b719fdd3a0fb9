// SPDX-License-Identifier: Apache-2.0
// The elements' arithmetic against its rules and another computation, and against the processor if
// it has the instructions.
#include "arithmetic.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <random>

#include "machine.hpp"
#include "numbers.hpp"

namespace {

using namespace emulator;

// The upper half of a float decides for the 65536 floats that share it.
std::uint32_t expected_conversion(std::uint32_t upper, std::uint32_t lower) {
  const bool subnormal = (upper & 0x7f80) == 0;
  const bool largest_exponent = (upper & 0x7f80) == 0x7f80;
  if (subnormal) return upper & 0x8000;
  if (largest_exponent) return (upper & 0x7f) == 0 && lower == 0 ? upper : upper | 0x0040;
  if (lower == 0x8000) return upper + (upper & 1);
  return lower < 0x8000 ? upper : upper + 1;
}

TEST(arithmetic, conversion_follows_its_rule) {
  std::mt19937 random(1);
  for (std::uint32_t upper = 0; upper <= 0xffff; ++upper) {
    for (const std::uint32_t lower : {0U, 1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU,
                                      static_cast<std::uint32_t>(random() & 0xffff)}) {
      const std::uint32_t x = upper << 16 | lower;
      ASSERT_EQ(to_bfloat16(x), expected_conversion(upper, lower)) << std::hex << x;
    }
  }
}

TEST(arithmetic, conversion_by_example) {
  EXPECT_EQ(to_bfloat16(0x7f800001), 0x7fc0);  // NaN: truncated and quieted
  EXPECT_EQ(to_bfloat16(0x7fc12345), 0x7fc1);
  EXPECT_EQ(to_bfloat16(0xff812345), 0xffc1);
  EXPECT_EQ(to_bfloat16(0x7f7fffff), 0x7f80);  // beyond the largest
  EXPECT_EQ(to_bfloat16(0xff800000), 0xff80);
  EXPECT_EQ(to_bfloat16(0x007fffff), 0x0000);  // flushed, though it would round to a normal number
  EXPECT_EQ(to_bfloat16(0x80400000), 0x8000);
  EXPECT_EQ(to_bfloat16(0x3f808000), 0x3f80);  // ties
  EXPECT_EQ(to_bfloat16(0x3f818000), 0x3f82);
}

// For finite numbers, in double: the product is exact, and the sum is rounded to odd. So rounding
// once more to float is rounding once.
std::uint32_t fused_in_double(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const auto value = [](std::uint32_t x) {
    return double{std::bit_cast<float>(subnormal_is_zero(x))};
  };
  const double product = value(a) * value(b);
  const double addend = value(c);
  double sum = product + addend;
  const double seen = sum - product;
  const double lost = (product - (sum - seen)) + (addend - seen);
  if (lost != 0 && (std::bit_cast<std::uint64_t>(sum) & 1) == 0)
    sum = std::nextafter(sum, lost > 0 ? std::numeric_limits<double>::infinity()
                                       : -std::numeric_limits<double>::infinity());
  // Tiny is what is too small after rounding to a float with a wider exponent.
  const bool tiny = std::abs(sum) < 1 && std::abs(static_cast<float>(sum * 0x1p100)) < 0x1p-26F;
  return std::bit_cast<std::uint32_t>(static_cast<float>(tiny ? std::copysign(0, sum) : sum));
}

TEST(arithmetic, multiply_add_rounds_once) {
  numbers random(2);
  int compared = 0;
  for (int i = 0; i < 4'000'000; ++i) {
    const std::uint32_t a = random.next_pair() & 0xffff0000;
    const std::uint32_t b = random.next_pair() & 0xffff0000;
    std::uint32_t c = random.next_float();
    // The addend as near to the product as leaves both to say something.
    const int near = exponent(a) + exponent(b) + 24 + i % 64 - 32 + 149;
    if (i % 4 != 0 && near > 0 && near < 255)
      c = (c & 0x807fffff) | static_cast<std::uint32_t>(near) << 23;
    if (((a & infinity) == infinity) || ((b & infinity) == infinity) ||
        ((c & infinity) == infinity))
      continue;
    ++compared;
    ASSERT_EQ(multiply_add(a, b, c), fused_in_double(a, b, c))
        << std::hex << a << ' ' << b << ' ' << c;
  }
  EXPECT_GT(compared, 2'000'000);
}

TEST(arithmetic, multiply_add_by_example) {
  constexpr std::uint32_t one = 0x3f800000, half = 0x3f000000, smallest = 0x00800000;
  EXPECT_EQ(multiply_add(one, one, one), 0x40000000U);
  EXPECT_EQ(multiply_add(one, one, one | sign_bit), 0U);  // a difference of zero is positive
  EXPECT_EQ(multiply_add(one | sign_bit, 0, sign_bit), sign_bit);
  EXPECT_EQ(multiply_add(one | sign_bit, 0, 0), 0U);
  EXPECT_EQ(multiply_add(half, smallest, 0), 0U);  // flushed
  EXPECT_EQ(multiply_add(half | sign_bit, smallest, 0), sign_bit);
  EXPECT_EQ(multiply_add(one, 0x007f0000, one), one);  // subnormal, so zero
  EXPECT_EQ(multiply_add(one, smallest, 0x007fffff), smallest);
  EXPECT_EQ(multiply_add(infinity, 0x007f0000, one), default_nan);
  EXPECT_EQ(multiply_add(infinity, one, infinity | sign_bit), default_nan);
  EXPECT_EQ(multiply_add(infinity, one | sign_bit, one), infinity | sign_bit);
  EXPECT_EQ(multiply_add(0x7f7f0000, 0x7f7f0000, one), infinity);
  EXPECT_EQ(multiply_add(infinity, 0, 0x7f800001), 0x7fc00001U);
}

// Lower elements before upper ones, the first source before the second, the sum last.
TEST(arithmetic, dot_product_propagates_nan_by_priority) {
  constexpr std::uint32_t low = 0x7fc1, high = 0x7fc20000, other_low = 0x7fc3,
                          other_high = 0x7fc40000, sum = 0x7fc50000;
  EXPECT_EQ(dot_product_add(sum, high | low, other_high | other_low), 0x7fc10000U);
  EXPECT_EQ(dot_product_add(sum, high, other_high | other_low), 0x7fc30000U);
  EXPECT_EQ(dot_product_add(sum, high, other_high), 0x7fc20000U);
  EXPECT_EQ(dot_product_add(sum, 0, other_high), 0x7fc40000U);
  EXPECT_EQ(dot_product_add(sum, 0x7f800000, 0), sum);  // not the NaN of infinity times zero
  EXPECT_EQ(dot_product_add(0, 0x7f800000, 0), default_nan);
}

#if LOWP_HAS_EMULATOR

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))

TARGET void convert_native(const std::uint32_t* x, std::uint16_t* codes) {
  asm("vmovdqu32 (%0), %%zmm0\n\t"
      "vcvtneps2bf16 %%zmm0, %%ymm0\n\t"
      "vmovdqu %%ymm0, (%1)\n\t"
      "vzeroupper" ::"r"(x),
      "r"(codes)
      : "xmm0", "memory");
}
TARGET void dot_product_native(std::uint32_t* sum, const std::uint32_t* a, const std::uint32_t* b) {
  asm("vmovdqu32 (%0), %%zmm0\n\t"
      "vmovdqu32 (%1), %%zmm1\n\t"
      "vdpbf16ps (%2), %%zmm1, %%zmm0\n\t"
      "vmovdqu32 %%zmm0, (%0)\n\t"
      "vzeroupper" ::"r"(sum),
      "r"(a), "r"(b)
      : "xmm0", "xmm1", "memory");
}

TEST(arithmetic, is_the_processors) {
  if (!has_avx512() || !has_avx512_bf16())
    GTEST_SKIP() << "this processor lacks AVX512_BF16, so there is nothing to compare with";
  numbers random(3);
  std::array<std::uint32_t, 16> x, sum, a, b, result;
  std::array<std::uint16_t, 16> codes;
  for (int round = 0; round < 300'000; ++round) {
    for (std::size_t i = 0; i < 16; ++i) {
      x[i] = random.next_float();
      a[i] = random.next_pair();
      b[i] = random.next_pair();
      sum[i] = random.next_float();
    }
    convert_native(x.data(), codes.data());
    result = sum;
    dot_product_native(result.data(), a.data(), b.data());
    for (std::size_t i = 0; i < 16; ++i) {
      ASSERT_EQ(to_bfloat16(x[i]), codes[i]) << std::hex << x[i];
      ASSERT_EQ(dot_product_add(sum[i], a[i], b[i]), result[i])
          << std::hex << sum[i] << ' ' << a[i] << ' ' << b[i];
    }
  }
}

#endif

}  // namespace
