// SPDX-License-Identifier: Apache-2.0
// Operators of the value types. The operands decide the result:
//
//     T op T, T op integer    T: the exact result rounded once to nearest even, default overflow;
//                             the integer becomes a T first
//     T op floating           the result of the language's float op floating
//     T op foreign            float op float; foreign is _Float16, __bf16, or another library's
//                             type of 8 or 16 bits that converts to float
//     T op U, both narrow     deleted: convert one operand
//
// A NaN result is the canonical quiet NaN.
#pragma once

#include <lowp/format/basic_float.hpp>

#include <compare>

namespace lowp {

template <class A, class B>
concept different_formats =
    narrow<A> && narrow<B> && !std::same_as<detail::explicit_of<A>, detail::explicit_of<B>>;

namespace detail {
/// A number of the compiler or of another library, as narrow as ours. Larger classes that convert
/// to float, such as Eigen's expressions, have operators of their own.
template <class X>
concept foreign =
    number_like<X> && !std::is_enum_v<X> && std::is_trivially_copyable_v<X> && sizeof(X) <= 2;
/// A foreign type that takes the result of an operation. Another may have assignments of its own.
template <class X>
concept foreign_result = foreign<X> && requires(float x) { static_cast<X>(x); };
}  // namespace detail

// The order of A and B does not matter.
template <class A, class B>
concept operands = ((narrow<A> && (number<B> || detail::foreign<B>)) ||
                    ((number<A> || detail::foreign<A>) && narrow<B>)) &&
                   !different_formats<A, B>;

namespace detail {

/// The narrow type of two operands; implicit<T> for T and implicit<T>.
template <class A, class B>
using narrow_of =
    std::conditional_t<narrow<A> && (!narrow<B> || std::same_as<B, explicit_of<B>>), A, B>;

/// The floating type of the language in which it computes an operation of A and B.
template <class A, class B>
using language_type =
    decltype(0.0f + std::conditional_t<std::floating_point<A>, A,
                                       std::conditional_t<std::floating_point<B>, B, float>>());

/// Returns the exact operand `x` of an operation of A and B.
template <class A, class B, class X>
LOWP_FN constexpr language_type<A, B> operand(X x) {
  if constexpr (std::floating_point<X> || foreign<X>)
    return static_cast<language_type<A, B>>(x);
  else
    return static_cast<language_type<A, B>>(static_cast<float>(static_cast<narrow_of<A, B>>(x)));
}

/// A type in which one operation on T stays in range and is exact or rounds innocuously. For that,
/// 2p + 2 digits are enough (S. Figueroa, "When is double rounding innocuous?", SIGNUM 30, 1995).
template <format F>
inline constexpr bool float_is_wide_enough =
    2 * F.precision() + 2 <= 24 && 2 * (F.min_exponent() - F.significand_bits) >= -126 &&
    2 * (F.max_exponent() + 1) <= 127 &&
    F.max_exponent() + 1 - (F.min_exponent() - F.significand_bits) <= 126;
template <narrow T>
using wide = std::conditional_t<float_is_wide_enough<T::descriptor>, float, double>;

LOWP_FN constexpr bool is_nan(float x) { return lanes::is_nan(x); }
LOWP_FN constexpr bool is_nan(double x) { return unpack(x).nan; }

template <narrow T, class W>
LOWP_FN constexpr T computed(W result) {
  if (is_nan(result)) return from_code<T>(T::descriptor.nan_code());
  return convert<T>(result);
}

/// Returns true if `a Op b` is NaN, of operands that are not.
template <char Op>
LOWP_FN constexpr bool is_invalid(unpacked const& a, unpacked const& b) {
  bool const a_is_zero = a.significand == 0 && !a.infinite;
  bool const b_is_zero = b.significand == 0 && !b.infinite;
  if (Op == '*') return (a.infinite && b_is_zero) || (a_is_zero && b.infinite);
  if (Op == '/') return (a.infinite && b.infinite) || (a_is_zero && b_is_zero);
  return a.infinite && b.infinite && (a.negative != b.negative) == (Op == '+');
}

/// Returns a Op b. Constant evaluation rejects a division by zero.
template <char Op, class F>
LOWP_FN constexpr F result_of(F a, F b) {
  if constexpr (Op == '+') return a + b;
  if constexpr (Op == '-') return a - b;
  if constexpr (Op == '*') return a * b;
  if (__builtin_is_constant_evaluated() && is_equal(b, F{0})) {
    constexpr auto infinity = static_cast<F>(__builtin_inff());
    using exact = std::conditional_t<sizeof(F) <= sizeof(double), double, F>;
    auto const x = unpack(static_cast<exact>(a)), y = unpack(static_cast<exact>(b));
    if (x.nan || is_invalid<'/'>(x, y)) return static_cast<F>(__builtin_nanf(""));
    return x.negative != y.negative ? -infinity : infinity;
  }
  return a / b;
}

template <char Op, class A, class B>
LOWP_FN constexpr auto apply(A a, B b) {
  auto const x = operand<A, B>(a);
  auto const y = operand<A, B>(b);
  if constexpr (!(narrow<A> || integer<A>) || !(narrow<B> || integer<B>)) {
    return result_of<Op>(x, y);
  } else {
    using T = narrow_of<A, B>;
    using W = wide<T>;
    // Constant evaluation rejects an operation whose result is NaN.
    if (__builtin_is_constant_evaluated() &&
        (is_nan(x) || is_nan(y) ||
         is_invalid<Op>(unpack(static_cast<double>(x)), unpack(static_cast<double>(y)))))
      return computed<T>(static_cast<W>(__builtin_nanf("")));
    return computed<T>(result_of<Op>(static_cast<W>(x), static_cast<W>(y)));
  }
}

}  // namespace detail

// Two narrow formats do not mix: without deleted operators, both would silently widen to float. A
// diagnostic shows the name of their return type.
template <class A, class B>
struct formats_do_not_mix_convert_one;

#define LOWP_OPERATOR(op, character)                               \
  template <class A, operands<A> B>                                \
  LOWP_FN constexpr auto operator op(A a, B b) {                   \
    return detail::apply<character>(a, b);                         \
  }                                                                \
  template <class A, operands<A> B>                                \
    requires(narrow<A> || detail::foreign_result<A>)               \
  LOWP_FN constexpr A& operator op##=(A & a, B b) {                \
    return a = static_cast<A>(a op b);                             \
  }                                                                \
  template <class A, different_formats<A> B>                       \
  formats_do_not_mix_convert_one<A, B> operator op(A, B) = delete; \
  template <class A, different_formats<A> B>                       \
  formats_do_not_mix_convert_one<A, B> operator op##=(A&, B) = delete;
LOWP_OPERATOR(+, '+')
LOWP_OPERATOR(-, '-')
LOWP_OPERATOR(*, '*')
LOWP_OPERATOR(/, '/')
#undef LOWP_OPERATOR

LOWP_FN constexpr auto& operator++(narrow auto& a) { return a += 1; }
LOWP_FN constexpr auto& operator--(narrow auto& a) { return a -= 1; }
LOWP_FN constexpr auto operator++(narrow auto& a, int) {
  auto const before = a;
  a += 1;
  return before;
}
LOWP_FN constexpr auto operator--(narrow auto& a, int) {
  auto const before = a;
  a -= 1;
  return before;
}

LOWP_FN constexpr auto operator+(narrow auto a) { return a; }
/// Flips the sign, also of NaN. A format without negative zero keeps its zero and its NaN. A format
/// without sign gives NaN for the rest.
template <narrow T>
LOWP_FN constexpr T operator-(T a) {
  constexpr format F = T::descriptor;
  if (F.has_zero() && !F.has_negative_zero() && (a.bits() & F.magnitude_mask()) == 0) return a;
  if (!F.has_sign) return detail::from_code<T>(F.nan_code());
  return detail::from_code<T>(a.bits() ^ F.sign_mask());
}

template <class A, operands<A> B>
LOWP_FN constexpr bool operator==(A a, B b) {
  return detail::is_equal(detail::operand<A, B>(a), detail::operand<A, B>(b));
}
template <class A, operands<A> B>
LOWP_FN constexpr std::partial_ordering operator<=>(A a, B b) {
  return detail::operand<A, B>(a) <=> detail::operand<A, B>(b);
}
// Device code cannot compare a std::partial_ordering with 0.
#define LOWP_COMPARISON(op)                                      \
  template <class A, operands<A> B>                              \
  LOWP_FN constexpr bool operator op(A a, B b) {                 \
    return detail::operand<A, B>(a) op detail::operand<A, B>(b); \
  }
LOWP_COMPARISON(<)
LOWP_COMPARISON(>)
LOWP_COMPARISON(<=)
LOWP_COMPARISON(>=)
#undef LOWP_COMPARISON
template <class A, different_formats<A> B>
formats_do_not_mix_convert_one<A, B> operator==(A, B) = delete;
// <, >, <= and >= of two formats are rewritten to this one.
template <class A, different_formats<A> B>
formats_do_not_mix_convert_one<A, B> operator<=>(A, B) = delete;

}  // namespace lowp
