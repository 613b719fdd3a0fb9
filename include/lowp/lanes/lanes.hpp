// SPDX-License-Identifier: Apache-2.0
// The vocabulary of one lane. An element function in these words gives the same bits in every lane
// type. A lane type is a float, in a CUDA thread too, or a pack of any instruction set.
//
//     word   std::uint32_t or a pack of them: + - * & | ^ << >> and the functions below
//     real   float or a pack of them: the functions below only, so that nothing is contracted
//     mask   bool or a pack of them: mask_and, mask_or, mask_not, any, count, select
#pragma once

#include <lowp/lanes/scalar_lanes.hpp>

namespace lowp::lanes {

/// The word, the mask and the double-precision lanes of a lane type.
template <class T>
using word = typename lane<T>::word;
template <class T>
using mask = typename lane<T>::mask;
template <class T>
using wide = typename lane<T>::wide;

/// The operations of the lanes of a reference's type.
template <class T>
using lane_of = lane<std::remove_cvref_t<T>>;

/// Returns x in every lane.
template <class T>
LOWP_FN constexpr T broadcast(typename lane<T>::scalar x) {
  return lane<T>::broadcast(x);
}

// Words. `greater`, `max` and `min` compare in two's complement. `mul_wide` returns both halves of
// the product, .high and .low. `to_real` is exact below 2^24.
LOWP_FN constexpr auto equal(auto const& a, decltype(a) b) {
  return lane_of<decltype(a)>::equal(a, b);
}
LOWP_FN constexpr auto greater(auto const& a, decltype(a) b) {
  return lane_of<decltype(a)>::greater(a, b);
}
LOWP_FN constexpr auto mul_wide(auto const& a, std::uint32_t b) {
  return lane_of<decltype(a)>::mul_wide(a, b);
}
/// Returns a ^ b ^ key, with the same key in every lane.
LOWP_FN constexpr auto xor3(auto const& a, decltype(a) b, std::uint32_t const& key) {
  return lane_of<decltype(a)>::xor3(a, b, key);
}
LOWP_FN constexpr auto to_real(auto const& a) { return lane_of<decltype(a)>::to_real(a); }
LOWP_FN constexpr auto max(auto const& a, decltype(a) b) { return lane_of<decltype(a)>::max(a, b); }
LOWP_FN constexpr auto min(auto const& a, decltype(a) b) { return lane_of<decltype(a)>::min(a, b); }
/// Returns table[index] in each lane.
LOWP_FN auto lookup(std::uint32_t const* table, auto const& index) {
  return lane_of<decltype(index)>::lookup(table, index);
}

// Masks.
template <class M, class T>
LOWP_FN constexpr T select(M const& mask, T const& yes, T const& no) {
  return lane<T>::select(mask, yes, no);
}
LOWP_FN constexpr auto mask_and(auto const& a, decltype(a) b) {
  return lane_of<decltype(a)>::mask_and(a, b);
}
LOWP_FN constexpr auto mask_or(auto const& a, decltype(a) b) {
  return lane_of<decltype(a)>::mask_or(a, b);
}
LOWP_FN constexpr auto mask_not(auto const& a) { return lane_of<decltype(a)>::mask_not(a); }
/// Returns true if the mask is true in at least one lane.
LOWP_FN constexpr auto any(auto const& a) { return lane_of<decltype(a)>::any(a); }
/// Returns the number of true lanes.
LOWP_FN constexpr auto count(auto const& a) { return lane_of<decltype(a)>::count(a); }

// Reals: IEEE 754 operations, rounded once to nearest even, subnormals kept. The sign and payload
// of a NaN result are unspecified until it is stored.
LOWP_FN constexpr auto bits(auto const& x) { return lane_of<decltype(x)>::bits(x); }
template <class F>
LOWP_FN constexpr F from_bits(word<F> const& b) {
  return lane<F>::from_bits(b);
}
LOWP_FN auto add(auto const& a, decltype(a) b) { return lane_of<decltype(a)>::add(a, b); }
LOWP_FN auto sub(auto const& a, decltype(a) b) { return lane_of<decltype(a)>::sub(a, b); }
LOWP_FN auto mul(auto const& a, decltype(a) b) { return lane_of<decltype(a)>::mul(a, b); }
LOWP_FN auto div(auto const& a, decltype(a) b) { return lane_of<decltype(a)>::div(a, b); }
LOWP_FN auto sqrt(auto const& a) { return lane_of<decltype(a)>::sqrt(a); }
/// Returns a * b + c, rounded once.
LOWP_FN auto fma(auto const& a, decltype(a) b, decltype(a) c) {
  return lane_of<decltype(a)>::fma(a, b, c);
}
/// Returns the largest integer not above a, for a from 0 to below 2^31.
LOWP_FN constexpr auto to_word(auto const& a) { return lane_of<decltype(a)>::to_word(a); }
/// Returns a in double precision, exactly.
LOWP_FN auto widen(auto const& a) { return lane_of<decltype(a)>::widen(a); }

/// Returns sum + a * b in double precision. The product must be exact, as the product of two floats
/// is. Rounding it before the sum then makes no difference.
LOWP_FN auto add_product(auto const& sum, decltype(sum) a, decltype(sum) b) {
  return lane_of<decltype(sum)>::add_product(sum, a, b);
}

// Reals as bit patterns: no compiler's floating-point flag affects these.
inline constexpr std::uint32_t binary32_sign = 0x80000000, binary32_infinity = 0x7f800000,
                               binary32_nan = 0x7fc00000;

LOWP_FN constexpr auto magnitude(auto const& a) { return bits(a) & (binary32_sign - 1); }
template <class F>
LOWP_FN constexpr F absolute(F const& a) {
  return from_bits<F>(magnitude(a));
}
/// Likewise. nvcc would make an integer's operation one that flushes, under --use_fast_math.
template <class F>
LOWP_FN F size_of(F const& x) {
  if constexpr (requires { lane<F>::absolute(x); })
    return lane<F>::absolute(x);
  else
    return absolute(x);
}
/// Returns the magnitude of a with the sign of b.
template <class F>
LOWP_FN constexpr F copysign(F const& a, F const& b) {
  return from_bits<F>(magnitude(a) | (bits(b) & binary32_sign));
}
/// Returns a word that a GPU's compiler does not recognise as a float, or as a constant. Otherwise
/// it would turn a test into a comparison of floats, and a changed sign into a negation. Under
/// --use_fast_math both flush subnormals.
template <class U>
LOWP_FN constexpr U hidden(U const& a) {
#if defined(__CUDA_ARCH__)
  if (!__builtin_is_constant_evaluated()) return lane<U>::hidden(a);
#endif
  return a;
}
template <class F>
LOWP_FN constexpr F negative(F const& a) {
  return from_bits<F>(bits(a) ^ hidden(broadcast<word<F>>(binary32_sign)));
}
template <class F>
LOWP_FN constexpr auto is_nan(F const& a) {
  return greater(magnitude(a), broadcast<word<F>>(binary32_infinity));
}
template <class F>
LOWP_FN constexpr auto is_finite(F const& a) {
  return greater(broadcast<word<F>>(binary32_infinity), hidden(magnitude(a)));
}
template <class F>
LOWP_FN constexpr auto is_zero(F const& a) {
  return equal(magnitude(a), broadcast<word<F>>(0));
}
/// Returns a, or the canonical quiet NaN for any NaN, the only one that a computed result may be.
template <class F>
LOWP_FN constexpr F canonical(F const& a) {
  if constexpr (requires { lane<F>::canonical(a); }) return lane<F>::canonical(a);
  return from_bits<F>(select(is_nan(a), broadcast<word<F>>(binary32_nan), bits(a)));
}
/// Returns an integer that orders as the number does, except for zeros and NaN.
template <class F>
LOWP_FN constexpr word<F> order(F const& a) {
  word<F> const sign = bits(a) >> 31;
  return bits(a) ^ ((broadcast<word<F>>(0) - sign) & (binary32_sign - 1));
}
/// Returns the larger of x and `number`, or `number` if x is NaN. `number` must not be NaN. The
/// choice between two zeros is unspecified.
template <class F>
LOWP_FN F maximum_number(F const& x, F const& number) {
  if constexpr (requires { lane<F>::maximum_number(x, number); })
    return lane<F>::maximum_number(x, number);
  else
    return select(mask_and(mask_not(is_nan(x)), greater(order(x), order(number))), x, number);
}
/// Returns the smaller of x and `number`, or NaN if x is NaN, otherwise likewise.
template <class F>
LOWP_FN F smaller_or_nan(F const& x, F const& number) {
  if constexpr (requires { lane<F>::smaller_or_nan(x, number); })
    return lane<F>::smaller_or_nan(x, number);
  else
    return select(mask_and(mask_not(is_nan(x)), greater(order(x), order(number))), number, x);
}

}  // namespace lowp::lanes
