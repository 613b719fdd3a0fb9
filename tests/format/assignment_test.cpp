// SPDX-License-Identifier: Apache-2.0
// Numbers become narrow by initialisation, by a cast or by assignment.
#include <lowp/cast.hpp>

#include <cmath>
#include <numeric>
#include <type_traits>

#include "support/support.hpp"

namespace {

using namespace lowp_test;
using lowp::bfloat16;
using lowp::float16;
using lowp::float8_e4m3fn;

enum unscoped { three = 3 };
enum class scoped : unsigned long long { large = 1ULL << 40 };

// Another library's 16-bit type, as Eigen::half and c10::BFloat16 are.
struct foreign {
  float x;
  constexpr operator float() const { return x; }
};
struct explicit_foreign {
  float x;
  constexpr explicit operator float() const { return x; }
};
// These lose digits on their way to float, so the language's own narrowing rule keeps them out.
struct foreign_double {
  constexpr operator double() const { return 0.1; }
};
struct foreign_integer {
  constexpr operator int() const { return 16777217; }
};

template <class T>
constexpr bool takes_part_as_float_does() {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_default_constructible_v<T>);
  static_assert(std::is_trivially_copy_assignable_v<T> && std::is_trivially_move_assignable_v<T>);
  // An initialisation that may lose digits is explicit; an assignment never is.
  static_assert(std::is_convertible_v<int, T> && std::is_convertible_v<bool, T>);
  static_assert(!std::is_convertible_v<float, T> && std::is_constructible_v<T, float>);
  static_assert(!std::is_convertible_v<long double, T> && std::is_constructible_v<T, long double>);
  static_assert(std::is_assignable_v<T&, float> && std::is_assignable_v<T&, double>);
  static_assert(std::is_assignable_v<T&, long double> && std::is_assignable_v<T&, unsigned char>);
  static_assert(std::is_convertible_v<oracle::i128, T> && std::is_assignable_v<T&, oracle::u128>);
  static_assert(!std::is_convertible_v<foreign, T> && std::is_constructible_v<T, foreign>);
  static_assert(std::is_constructible_v<T, explicit_foreign&>);
  static_assert(!std::is_constructible_v<T, foreign_double>);
  static_assert(!std::is_constructible_v<T, foreign_integer>);
  static_assert(!std::is_convertible_v<unscoped, T> && std::is_constructible_v<T, unscoped>);
  static_assert(!std::is_convertible_v<scoped, T> && std::is_constructible_v<T, scoped>);
  // Only numbers: overload resolution would pick an overload that takes everything, and then fail.
  static_assert(!std::is_assignable_v<T&, foreign> && !std::is_assignable_v<T&, char const*>);
  static_assert(!std::is_assignable_v<T&, scoped> && !std::is_assignable_v<T&, std::nullptr_t>);
  static_assert(!std::is_constructible_v<T, char const*> && !std::is_constructible_v<T, void*>);
  return true;
}
static_assert(takes_part_as_float_does<bfloat16>() && takes_part_as_float_does<float8_e4m3fn>());

// Two formats do not mix.
static_assert(!std::is_assignable_v<bfloat16&, float16> &&
              !std::is_convertible_v<float16, bfloat16>);
static_assert(std::is_constructible_v<bfloat16, float16>);

#if defined(__FLT16_MANT_DIG__)
using half = lowp::compiler_float16;
static_assert(std::is_constructible_v<bfloat16, half> && std::is_assignable_v<bfloat16&, half>);
static_assert(!std::is_convertible_v<half, bfloat16>);
#endif

template <class X>
bfloat16 assigned(X x) {
  bfloat16 y = 0;
  y = x;
  return y;
}

TEST(assignment, rounds_once) {
  EXPECT_TRUE(has_bits(assigned(0x1.01p0f), 0x3f80));
  EXPECT_TRUE(has_bits(assigned(0x1.01p0 + 0x1p-40), 0x3f81));  // a tie by way of float
  EXPECT_TRUE(has_bits(assigned(0x1.01p0L + 0x1p-62L), 0x3f81));
  EXPECT_TRUE(has_bits(assigned(257), 0x4380));
  EXPECT_TRUE(has_bits(assigned((1LL << 40) + (1LL << 32) + 1), 0x5381));
  EXPECT_TRUE(has_bits(assigned((oracle::i128{1} << 100) + (oracle::i128{1} << 92) + 1), 0x7181));
  EXPECT_TRUE(has_bits(assigned(-(oracle::i128{1} << 100)), 0xf180));
  EXPECT_TRUE(has_bits(assigned(true), 0x3f80));
  constexpr bfloat16 y = [] {
    bfloat16 z = 3;
    return z = 0.5f * z;
  }();
  static_assert(y == 1.5f);
}

TEST(assignment, is_what_code_written_for_float_needs) {
  bfloat16 y = 3;
  y = 0.5f * y;
  EXPECT_EQ(y, 1.5f);
  y = y - 0.25;
  EXPECT_EQ(y, 1.25f);
  y = std::sqrt(y + 1.0f);
  EXPECT_EQ(y, 1.5f);
  std::vector<bfloat16> const values(300, bfloat16(1));
  bfloat16 sum;
  sum = std::accumulate(values.begin(), values.end(), 0.0f);
  EXPECT_EQ(sum, 300);  // 256 if the sum itself were narrow
  y = true ? y : 0.0f;  // with 0 the language cannot choose: each converts to the other
  EXPECT_EQ(y, 1.5f);
  (y = 2.0f) = 3.0;
  EXPECT_EQ(y, 3);
}

TEST(construction, takes_whatever_converts_to_float_exactly) {
  EXPECT_EQ(bfloat16(foreign{0.1f}), bfloat16(0.1f));
  EXPECT_EQ(float8_e4m3fn(explicit_foreign{0.1f}), float8_e4m3fn(0.1f));
  EXPECT_EQ(bfloat16(three), 3);
  EXPECT_EQ(bfloat16(scoped::large), 0x1p40f);
  EXPECT_EQ(float16(oracle::u128{1} << 15), 32768);
  EXPECT_EQ(float16(1) + oracle::i128{1}, 2);
#if defined(__FLT16_MANT_DIG__)
  EXPECT_EQ(bfloat16(half(1.5f)), 1.5f);
  EXPECT_EQ(assigned(half(1.5f)), 1.5f);
#endif
}

}  // namespace
