// SPDX-License-Identifier: Apache-2.0
// Operators with an operand of another type, and the unary operators (A8).
#include <concepts>
#include <type_traits>
#include <utility>

#include "oracle/softfloat.hpp"
#include "support/support.hpp"

namespace {

using namespace lowp_test;

template <class A, class B>
concept adds = requires(A a, B b) { a + b; };
template <class A, class B>
concept any_operator =
    adds<A, B> || requires(A a, B b) { a - b; } || requires(A a, B b) { a* b; } ||
    requires(A a, B b) { a / b; } || requires(A a, B b) { a == b; } ||
    requires(A a, B b) { a != b; } || requires(A a, B b) { a < b; } ||
    requires(A a, B b) { a > b; } || requires(A a, B b) { a <= b; } ||
    requires(A a, B b) { a >= b; } || requires(A a, B b) { a <=> b; } ||
    requires(A a, B b) { a += b; } || requires(A a, B b) { a -= b; } ||
    requires(A a, B b) { a *= b; } || requires(A a, B b) { a /= b; };

template <class T, class B, class Result>
constexpr bool gives =
    std::same_as<decltype(std::declval<T>() + std::declval<B>()), Result> &&
    std::same_as<decltype(std::declval<B>() - std::declval<T>()), Result> &&
    std::same_as<decltype(std::declval<T>() * std::declval<B>()), Result> &&
    std::same_as<decltype(std::declval<B>() / std::declval<T>()), Result> &&
    std::same_as<decltype(std::declval<T&>() += std::declval<B>()), T&> &&
    std::same_as<decltype(std::declval<T>() == std::declval<B>()), bool> &&
    std::same_as<decltype(std::declval<B>() < std::declval<T>()), bool> &&
    std::same_as<decltype(std::declval<T>() <=> std::declval<B>()), std::partial_ordering>;

template <class T>
class operands : public testing::Test {};
TYPED_TEST_SUITE(operands, kernel_formats, by_format);

TYPED_TEST(operands, decide_the_result_type) {
  using T = TypeParam;
  static_assert(gives<T, T, T>);
  static_assert(gives<T, bool, T> && gives<T, char, T> && gives<T, signed char, T>);
  static_assert(gives<T, short, T> && gives<T, int, T> && gives<T, unsigned, T>);
  static_assert(gives<T, long, T> && gives<T, long long, T> && gives<T, unsigned long long, T>);
  static_assert(gives<T, float, float> && gives<T, double, double>);
  static_assert(gives<T, long double, long double>);
  static_assert(std::same_as<decltype(-std::declval<T>()), T>);
  static_assert(std::same_as<decltype(+std::declval<T>()), T>);
  types_of<all_formats>::for_each([](auto other) {
    using U = typename decltype(other)::type;
    static_assert(any_operator<T, U> == std::same_as<T, U>);
  });
}

TYPED_TEST(operands, convert_as_the_standard_narrow_types_do) {
  using T = TypeParam;
  static_assert(std::is_convertible_v<T, float> && std::is_convertible_v<T, double>);
  static_assert(!std::is_convertible_v<float, T> && std::is_constructible_v<T, float>);
  static_assert(!std::is_convertible_v<double, T> && std::is_constructible_v<T, double>);
  static_assert(!std::is_convertible_v<long double, T> && std::is_constructible_v<T, long double>);
  static_assert(std::is_convertible_v<int, T> && std::is_convertible_v<bool, T>);
  static_assert(std::is_convertible_v<unsigned long long, T>);
  types_of<all_formats>::for_each([](auto other) {
    using U = typename decltype(other)::type;
    static_assert(std::is_constructible_v<T, U>);
    static_assert(std::is_convertible_v<U, T> == std::same_as<T, U>);
  });
}

// All values, or enough of 65536 that every exponent and the special ones are among them.
template <class T>
std::vector<T> some_values() {
  std::vector<T> values;
  std::uint32_t const step = facts<T>.bits() == 16 ? 251 : 1;
  for (std::uint32_t code = 0; code < code_count<T>; code += step)
    values.push_back(of_code<T>(code));
  return values;
}

template <class T>
std::uint32_t code_of(oracle::number const& x) {
  return oracle::encode(facts<T>, x, oracle::mode::nearest_even, oracle::default_policy(facts<T>));
}

template <class T, class I>
void check_integer_operand(I i) {
  oracle::facts const& f = facts<T>;
  std::uint32_t const rounded = code_of<T>(oracle::from(i));  // before the operation (A11)
  T const narrow = of_code<T>(rounded);
  for (T const x : some_values<T>()) {
    std::uint32_t const a = x.bits();
    ASSERT_TRUE(has_bits(x + i, oracle::arithmetic(f, oracle::op::add, a, rounded), x, "+", i));
    ASSERT_TRUE(
        has_bits(i - x, oracle::arithmetic(f, oracle::op::subtract, rounded, a), i, "-", x));
    ASSERT_TRUE(
        has_bits(x * i, oracle::arithmetic(f, oracle::op::multiply, a, rounded), x, "*", i));
    ASSERT_TRUE(has_bits(i / x, oracle::arithmetic(f, oracle::op::divide, rounded, a), i, "/", x));
    T y = x;
    y -= i;
    ASSERT_TRUE(has_bits(y, oracle::arithmetic(f, oracle::op::subtract, a, rounded), x, "-=", i));
    ASSERT_EQ(comparisons(x, i), comparisons(x, narrow)) << shown(x) << ' ' << shown(i);
    ASSERT_EQ(comparisons(i, x), comparisons(narrow, x)) << shown(x) << ' ' << shown(i);
  }
}

TYPED_TEST(operands, integers_are_rounded_first) {
  using T = TypeParam;
  for (int const i : {0, 1, -1, 2, 3, 7, 9, 17, 257, -257, 283, 2049, 65519, 65520, 100000}) {
    check_integer_operand<T>(i);
  }
  check_integer_operand<T>(std::numeric_limits<int>::min());
  check_integer_operand<T>(std::numeric_limits<unsigned long long>::max());
  check_integer_operand<T>((1ULL << 40) + (1ULL << 32) + 1);
  check_integer_operand<T>(true);
}

template <class T, class F>
void check_floating_operand(F y) {
  for (T const x : some_values<T>()) {
    F const wide = static_cast<float>(x);
    auto const same = [](F got, F expected) { return got == expected || got != got; };
    ASSERT_TRUE(same(x + y, wide + y) && same(y - x, y - wide)) << shown(x) << ' ' << shown(y);
    ASSERT_TRUE(same(x * y, wide * y) && same(y / x, y / wide)) << shown(x) << ' ' << shown(y);
    ASSERT_EQ(comparisons(x, y), comparisons(wide, y)) << shown(x) << ' ' << shown(y);
    ASSERT_EQ(comparisons(y, x), comparisons(y, wide)) << shown(x) << ' ' << shown(y);

    // x *= y is x = T(x * y): two roundings, the first of them the language's.
    T z = x;
    z *= y;
    if (wide * y == wide * y) {
      ASSERT_TRUE(has_bits(z, code_of<T>(oracle::from(F{wide * y})), x, "*=", y));
    }
    z = x;
    z += y;
    if (wide + y == wide + y) {
      ASSERT_TRUE(has_bits(z, code_of<T>(oracle::from(F{wide + y})), x, "+=", y));
    }
  }
}

TYPED_TEST(operands, floating_ones_take_the_operation_to_their_type) {
  using T = TypeParam;
  for (double const y : {0.0, 1.0, -2.0, 0.1, 1.5, 0x1.01p0 + 0x1p-40, 1e-3, 1e30, -1e-30}) {
    check_floating_operand<T>(static_cast<float>(y));
    check_floating_operand<T>(y);
  }
}

TYPED_TEST(operands, plus_plus_and_minus_minus_add_and_subtract_one) {
  using T = TypeParam;
  std::uint32_t const one = code_of<T>(oracle::from(1));
  for (T const x : some_values<T>()) {
    std::uint32_t const up = oracle::arithmetic(facts<T>, oracle::op::add, x.bits(), one);
    std::uint32_t const down = oracle::arithmetic(facts<T>, oracle::op::subtract, x.bits(), one);
    T y = x;
    ASSERT_TRUE(has_bits(y++, x.bits()));
    ASSERT_TRUE(has_bits(y, up, x, "++"));
    y = x;
    ASSERT_TRUE(has_bits(y--, x.bits()));
    ASSERT_TRUE(has_bits(y, down, x, "--"));
    y = x;
    ASSERT_TRUE(has_bits(++y, up, "++", x));
    ASSERT_TRUE(has_bits(y, up, "++", x));
    y = x;
    ASSERT_TRUE(has_bits(--y, down, "--", x));
    ASSERT_TRUE(has_bits(y, down, "--", x));
  }
}

TYPED_TEST(operands, minus_flips_the_sign_where_there_is_one) {
  using T = TypeParam;
  constexpr bool one_zero = facts<T>.has_zero() && !facts<T>.has_negative_zero();
  for (std::uint32_t code = 0; code < code_count<T>; ++code) {
    T const x = of_code<T>(code);
    std::uint32_t expected = code ^ static_cast<std::uint32_t>(facts<T>.sign_mask());
    if (!facts<T>.is_signed) expected = canonical_nan(facts<T>);
    if (one_zero && (code & facts<T>.magnitude_mask()) == 0) expected = code;  // zero and NaN
    ASSERT_TRUE(has_bits(-x, expected, "-", x));
    ASSERT_TRUE(has_bits(+x, code, "+", x));
  }
}

// Another library's byte. It adds floats to itself, and no float makes one.
struct counter {
  std::uint8_t count = 0;
  counter() = default;
  constexpr operator float() const { return count; }
  constexpr counter& operator+=(float x) {
    count = static_cast<std::uint8_t>(count + static_cast<int>(x));
    return *this;
  }
};

TEST(foreign_operand, keeps_an_assignment_of_its_own) {
  counter c;
  c += lowp::bfloat16(3);
  EXPECT_EQ(c.count, 3);
  EXPECT_EQ(c + lowp::bfloat16(1), 4.0f);
}

}  // namespace
