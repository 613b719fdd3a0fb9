// SPDX-License-Identifier: Apache-2.0
// fma and sqrt: exact, then rounded once.
#include "oracle/softfloat.hpp"
#include "support/support.hpp"

namespace {

using namespace lowp_test;

template <class T>
testing::AssertionResult fuses(T a, T b, T c) {
  std::uint32_t const expected = oracle::fma(facts<T>, a.bits(), b.bits(), c.bits());
  return has_bits(fma(a, b, c), expected, "fma", a, b, c);
}

template <class T>
class fused : public testing::Test {};
TYPED_TEST_SUITE(fused, every_format, by_format);

TYPED_TEST(fused, sqrt_of_every_code) {
  using T = TypeParam;
  for (std::uint32_t code = 0; code < code_count<T>; ++code) {
    T const x = of_code<T>(code);
    ASSERT_TRUE(has_bits(sqrt(x), oracle::sqrt(facts<T>, code), "sqrt", x));
  }
}

TYPED_TEST(fused, fma_of_every_triple_or_a_million) {
  using T = TypeParam;
  if (facts<T>.bits() > 6) {
    codes<T> random(23);
    for (int i = 0; i < 1'000'000; ++i) {
      T const a = random.next();
      T const b = random.next();
      ASSERT_TRUE(fuses(a, b, random.next()));
    }
    return;
  }
  for (std::uint32_t i = 0; i < code_count<T> * code_count<T> * code_count<T>; ++i) {
    ASSERT_TRUE(fuses(of_code<T>(i % code_count<T>), of_code<T>(i / code_count<T> % code_count<T>),
                      of_code<T>(i / code_count<T> / code_count<T>)));
  }
}

// Products half way between neighbours. An addend far too small for a float to keep beside them
// decides.
TYPED_TEST(fused, fma_of_a_tie_and_a_trifle) {
  using T = TypeParam;
  T const smallest = of_code<T>(1);
  for (std::uint32_t code = 0; code < code_count<T>; ++code) {
    for (double const factor : {0.75, 1.0, 1.25, 1.5, 2.5, 3.0, -1.5}) {
      for (T const trifle : {smallest, -smallest, T(0), -T(0)}) {
        ASSERT_TRUE(fuses(of_code<T>(code), T(factor), trifle));
        ASSERT_TRUE(fuses(T(factor), trifle, of_code<T>(code)));
      }
    }
  }
}

// A product that all but cancels, and the part of it that a rounded product would have lost.
TYPED_TEST(fused, fma_of_a_product_less_its_rounding) {
  using T = TypeParam;
  codes<T> random(29);
  for (int i = 0; i < 300'000; ++i) {
    T const a = random.next();
    T const b = random.next();
    T const rounded = -(a * b);
    ASSERT_TRUE(fuses(a, b, rounded));
    ASSERT_TRUE(fuses(a, b, nextafter(rounded, a)));
  }
}

TEST(fused, fma_through_float_would_round_twice) {
  // 1.5 * 0x1.02p0 = 0x1.83p0 is half way between two bfloat16 values; 2^-60 lifts it.
  lowp::bfloat16 const a(0x1.02p0);
  lowp::bfloat16 const b(1.5);
  lowp::bfloat16 const c(0x1p-60);
  EXPECT_EQ(fma(a, b, c), lowp::bfloat16(0x1.84p0));
  EXPECT_EQ(fma(a, b, -c), lowp::bfloat16(0x1.82p0));
  EXPECT_EQ(a * b, lowp::bfloat16(0x1.84p0));
}

}  // namespace
