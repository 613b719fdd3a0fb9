// SPDX-License-Identifier: Apache-2.0
// + - * / and comparisons of two values of one format: every pair if there are few, and millions
// chosen to hurt if there are many.
#include "oracle/softfloat.hpp"

#include "support/support.hpp"

namespace {

using namespace lowp_test;

template <class T>
testing::AssertionResult computes(T a, T b) {
  auto const expected = [&](oracle::op o) {
    return oracle::arithmetic(facts<T>, o, a.bits(), b.bits());
  };
  if (auto same = has_bits(a + b, expected(oracle::op::add), a, "+", b); !same) return same;
  if (auto same = has_bits(a - b, expected(oracle::op::subtract), a, "-", b); !same) return same;
  if (auto same = has_bits(a * b, expected(oracle::op::multiply), a, "*", b); !same) return same;
  if (auto same = has_bits(a / b, expected(oracle::op::divide), a, "/", b); !same) return same;
  T c = a;
  if (auto same = has_bits(c += b, expected(oracle::op::add), a, "+=", b); !same) return same;
  c = a;
  if (auto same = has_bits(c -= b, expected(oracle::op::subtract), a, "-=", b); !same) return same;
  c = a;
  if (auto same = has_bits(c *= b, expected(oracle::op::multiply), a, "*=", b); !same) return same;
  c = a;
  return has_bits(c /= b, expected(oracle::op::divide), a, "/=", b);
}

template <class T>
testing::AssertionResult compares(T a, T b) {
  double const x = value_of(facts<T>, a.bits());
  double const y = value_of(facts<T>, b.bits());
  unsigned const expected = comparisons(x, y);
  if (comparisons(a, b) == expected && comparisons(a, y) == expected &&
      comparisons(static_cast<float>(x), b) == expected) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << facts<T>.name << ": comparing " << shown(a) << " with "
                                     << shown(b) << " is not comparing " << x << " with " << y;
}

// All pairs up to ten bits.
template <class T>
class small_arithmetic : public testing::Test {};
using small_formats =
    joined<byte_formats, testing::Types<user_e5m4, binary6p1se, binary8p4ue>>::type;
TYPED_TEST_SUITE(small_arithmetic, small_formats, by_format);

TYPED_TEST(small_arithmetic, is_exact_and_rounded_once) {
  using T = TypeParam;
  for (std::uint32_t a = 0; a < code_count<T>; ++a) {
    for (std::uint32_t b = 0; b < code_count<T>; ++b) {
      ASSERT_TRUE(computes(of_code<T>(a), of_code<T>(b)));
    }
  }
}

TYPED_TEST(small_arithmetic, compares) {
  using T = TypeParam;
  for (std::uint32_t a = 0; a < code_count<T>; ++a) {
    for (std::uint32_t b = 0; b < code_count<T>; ++b) {
      ASSERT_TRUE(compares(of_code<T>(a), of_code<T>(b)));
    }
  }
}

template <class T>
class large_arithmetic : public testing::Test {};
using large_formats = joined<wide_formats, testing::Types<user_e6m9, user_e2m13>>::type;
TYPED_TEST_SUITE(large_arithmetic, large_formats, by_format);

TYPED_TEST(large_arithmetic, is_exact_and_rounded_once) {
  codes<TypeParam> random(11);
  for (int i = 0; i < 2'000'000; ++i) {
    TypeParam const a = random.next();
    ASSERT_TRUE(computes(a, random.next()));
  }
}

// Every value with the ones around it and the ones around 1: ties and cancellation live there.
TYPED_TEST(large_arithmetic, is_exact_and_rounded_once_for_every_value) {
  using T = TypeParam;
  std::uint32_t const one = T(1).bits();
  for (std::uint32_t a = 0; a < code_count<T>; ++a) {
    for (std::uint32_t const b : {a - 1, a, a + 1, a ^ 0x8000U, (a + 1) ^ 0x8000U, one - 1, one + 1,
                                  one + 0x8003U, 1U, 0U, 0x8000U}) {
      ASSERT_TRUE(computes(of_code<T>(a), of_code<T>(b & 0xffffU)));
      ASSERT_TRUE(compares(of_code<T>(a), of_code<T>(b & 0xffffU)));
    }
  }
}

TYPED_TEST(large_arithmetic, compares) {
  codes<TypeParam> random(13);
  for (int i = 0; i < 2'000'000; ++i) {
    TypeParam const a = random.next();
    ASSERT_TRUE(compares(a, random.next()));
  }
}

}  // namespace
