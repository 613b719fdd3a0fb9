// SPDX-License-Identifier: Apache-2.0
// Functions of the value types, found by argument-dependent lookup, and the gaps between values.
#pragma once

#include <lowp/format/arithmetic.hpp>

namespace lowp {

namespace detail {

LOWP_FN constexpr auto magnitude(narrow auto x) { return x.bits() & x.descriptor.magnitude_mask(); }
LOWP_FN constexpr auto sign(narrow auto x) { return x.bits() & x.descriptor.sign_mask(); }
template <narrow T>
LOWP_FN constexpr T canonical_nan() {
  return from_code<T>(T::descriptor.nan_code());
}

LOWP_FN constexpr unpacked unpack(narrow auto x) {
  return unpack_pattern<binary32>(decode<x.descriptor>(std::uint32_t{x.bits()}));
}
/// Returns u rounded to nearest even, with the default overflow policy.
template <narrow T>
LOWP_FN constexpr T nearest_value(unpacked const& u) {
  constexpr nearest_even mode;
  auto const results = special_results_of<T::descriptor>(mode, default_overflow<T>);
  return from_code<T>(encode<T::descriptor>(u, 0, mode, results));
}

/// Returns an integer that orders as the values do, NaN excepted. Unlike a comparison of floats, it
/// knows subnormals even if the unit flushes them.
LOWP_FN constexpr int rank(narrow auto x) {
  auto const m = static_cast<int>(magnitude(x));
  return sign(x) != 0 ? -m : m;
}

/// Returns 2^exponent for -149 <= exponent <= 127, even if the unit flushes subnormals.
LOWP_FN constexpr float power_of_two(int exponent) {
  return __builtin_bit_cast(float, exponent >= -126
                                       ? static_cast<std::uint32_t>(exponent + 127) << 23
                                       : std::uint32_t{1} << (exponent + 149));
}
/// Returns the distance from a magnitude to the next larger one, on the continued grid.
template <format F>
LOWP_FN constexpr float step_above(std::uint32_t magnitude) {
  int const field = static_cast<int>(magnitude >> F.significand_bits);
  int const exponent = (F.has_zero() && field == 0 ? 1 : field) - F.bias;
  return power_of_two(exponent - F.significand_bits);
}

/// Returns the distance to the neighbour away from zero, or to the one toward it.
LOWP_FN constexpr float gap(narrow auto x, bool outward) {
  constexpr format F = x.descriptor;
  constexpr float none = __builtin_nanf("");
  if (!isfinite(x)) return none;
  std::uint32_t const m = magnitude(x);
  if (!outward) return m == 0 ? (F.has_sign ? step_above<F>(0) : none) : step_above<F>(m - 1);
  if (m == F.max_code()) return F.has_infinity() ? __builtin_inff() : none;
  return step_above<F>(m);
}

/// Returns the exact value of x, in a type that the builtins take.
LOWP_FN double in_double(narrow auto x) { return lanes::widen(float{x}); }
LOWP_FN auto in_double(auto x) { return x; }  // an int, or a pointer to one

}  // namespace detail

LOWP_FN constexpr bool isnan(narrow auto x) {
  constexpr format F = x.descriptor;
  if (F.has_one_nan()) return (x.bits() & F.code_mask()) == F.nan_code();
  return detail::magnitude(x) > (F.has_infinity() ? F.infinity_code() : F.max_code());
}
LOWP_FN constexpr bool isinf(narrow auto x) {
  return x.descriptor.has_infinity() && detail::magnitude(x) == x.descriptor.infinity_code();
}
LOWP_FN constexpr bool isfinite(narrow auto x) { return !isnan(x) && !isinf(x); }
/// Returns true if x is finite, not zero and not subnormal.
LOWP_FN constexpr bool isnormal(narrow auto x) {
  return isfinite(x) && detail::magnitude(x) >= x.descriptor.min_normal_code();
}
/// Returns true if the sign is set; false for the NaN of a format that has only one.
LOWP_FN constexpr bool signbit(narrow auto x) {
  return detail::sign(x) != 0 && (x.descriptor.has_negative_zero() || !isnan(x));
}
/// Returns x with a clear sign, also for NaN.
LOWP_FN constexpr auto abs(narrow auto x) { return signbit(x) ? -x : x; }
/// Returns |x| with the sign of y, as far as the format can represent it.
template <narrow T>
LOWP_FN constexpr T copysign(T x, T y) {
  return signbit(x) == signbit(y) || !T::descriptor.has_sign ? x : -x;
}

/// Returns the value next to x in the direction of y (C23 7.12.11.3). Returns y if both are equal,
/// and the canonical NaN if one is NaN.
template <narrow T>
LOWP_FN constexpr T nextafter(T x, T y) {
  constexpr format F = T::descriptor;
  if (isnan(x) || isnan(y)) return detail::canonical_nan<T>();
  if (detail::rank(x) == detail::rank(y)) return y;
  int const next = detail::rank(x) + (detail::rank(x) < detail::rank(y) ? 1 : -1);
  bool const negative = next < 0 || (next == 0 && signbit(x) && F.has_negative_zero());
  return detail::from_code<T>(static_cast<std::uint32_t>(next < 0 ? -next : next) |
                              (negative ? F.sign_mask() : 0));
}

/// Returns the square root, rounded once to nearest even.
template <narrow T>
LOWP_FN constexpr T sqrt(T x) {
  constexpr format F = T::descriptor;
  if (isnan(x) || (signbit(x) && detail::magnitude(x) != 0)) return detail::canonical_nan<T>();
  if ((F.has_zero() && detail::magnitude(x) == 0) || isinf(x)) return x;
  // The leading bits of an integer root, and a bit below them for "not exact".
  auto const u = detail::unpack(x);
  int const scale = u.exponent - 61;
  bool const odd = scale % 2 != 0;
  std::uint64_t const square = u.significand << (odd ? 1 : 0);
  constexpr std::uint64_t highest = std::uint64_t{1} << 31, lowest = highest >> (F.precision() + 2);
  std::uint64_t root = 0;
  for (std::uint64_t bit = highest; bit >= lowest; bit >>= 1)
    if ((root | bit) * (root | bit) <= square) root |= bit;
  return detail::nearest_value<T>(detail::normalized(false, root << 1 | (root * root != square),
                                                     (scale - (odd ? 1 : 0)) / 2 - 1));
}

/// Returns a * b + c, rounded once to nearest even. The product and the sum are exact, to a bit for
/// "not zero below".
template <narrow T>
LOWP_FN constexpr T fma(T a, T b, T c) {
  auto const x = detail::unpack(a);
  auto const y = detail::unpack(b);
  auto z = detail::unpack(c);
  bool const infinite = x.infinite || y.infinite;
  bool const zero = (x.significand == 0 && !x.infinite) || (y.significand == 0 && !y.infinite);
  bool const negative = x.negative != y.negative;
  if (x.nan || y.nan || z.nan || (infinite && zero) ||
      (infinite && z.infinite && negative != z.negative))
    return detail::canonical_nan<T>();
  if (infinite || z.infinite) {
    detail::unpacked const result{.negative = infinite ? negative : z.negative, .infinite = true};
    return detail::nearest_value<T>(result);
  }
  // Significands of 16 bits are exact, so their product has 32.
  auto x_times_y = detail::normalized(negative, (x.significand >> 46) * (y.significand >> 46),
                                      x.exponent + y.exponent - 30);
  if (x_times_y.significand == 0 && z.significand == 0) {
    z.negative = negative && z.negative;
    return detail::nearest_value<T>(z);
  }
  bool const product_is_larger = x_times_y.exponent >= z.exponent;
  auto const& large = product_is_larger ? x_times_y : z;
  auto const& smaller = product_is_larger ? z : x_times_y;
  int const distance = large.exponent - smaller.exponent;
  int const shift = distance < 62 ? distance : 62;
  std::uint64_t const lost = smaller.significand & ((std::uint64_t{1} << shift) - 1);
  std::uint64_t const addend = smaller.significand >> shift | (lost != 0);
  bool const subtract = large.negative != smaller.negative;
  bool const flips = subtract && addend > large.significand;
  std::uint64_t const total = !subtract ? large.significand + addend
                              : flips   ? addend - large.significand
                                        : large.significand - addend;
  return detail::nearest_value<T>(
      detail::normalized(total != 0 && large.negative != flips, total, large.exponent - 61));
}

/// Returns the smaller value, or the other one if one is NaN; -0 is below +0.
template <narrow T>
LOWP_FN constexpr T fmin(T x, T y) {
  if (isnan(x)) return isnan(y) ? detail::canonical_nan<T>() : y;
  if (isnan(y)) return x;
  int const difference = detail::rank(x) - detail::rank(y);
  return difference < 0 || (difference == 0 && signbit(x)) ? x : y;
}
/// Returns the larger value, or the other one if one is NaN; +0 is above -0.
template <narrow T>
LOWP_FN constexpr T fmax(T x, T y) {
  T const least = fmin(x, y);
  return isnan(x) || isnan(y) ? least : least.bits() == x.bits() ? y : x;
}

/// Returns the distance from |x| to the next larger magnitude. The grid continues beyond the
/// largest finite value; at zero the distance is the smallest subnormal. Returns NaN for infinity
/// and NaN.
LOWP_FN constexpr float ulp(narrow auto x) {
  if (!isfinite(x)) return __builtin_nanf("");
  return detail::step_above<x.descriptor>(detail::magnitude(x));
}

/// Returns the distance to the neighbour toward +inf: infinite if the neighbour is infinity, NaN if
/// there is no neighbour.
LOWP_FN constexpr float gap_above(narrow auto x) { return detail::gap(x, !signbit(x)); }
/// Returns the distance to the neighbour toward -inf, likewise.
LOWP_FN constexpr float gap_below(narrow auto x) { return detail::gap(x, signbit(x)); }

// The functions of <cmath>, as C++23 has them for std::bfloat16_t.
//
// Each function computes in double and rounds to nearest even with the format's default overflow. A
// NaN result is the canonical quiet NaN. In ulps of T the error is at most
//
//     floor ceil trunc round rint nearbyint     1/2: the exact result rounded once. float16 and
//     fmod remainder modf frexp ldexp scalbn    bfloat16 hold it, if ldexp and scalbn are in range.
//     exp ... erfc, of one argument             1/2: correctly rounded for every float16, bfloat16
//     pow hypot atan2 fdim                      1/2 + 2^-36
//     lerp                                      1/2, and 2^-52 of the largest of these:
//                                               |a|, |t * a|, |t * b|
//
// if the platform's <cmath> errs by less than 8 ulps of double. A result below double's range is
// zero, and therefore NaN in a format without zero.
//
// Builtins, because <cmath> would cost a program more than all the value types.
#define LOWP_OF_ONE(name)                                               \
  template <narrow T>                                                   \
  LOWP_FN T name(T x) {                                                 \
    return detail::computed<T>(__builtin_##name(detail::in_double(x))); \
  }
// clang-format off
#define LOWP_FUNCTIONS_OF_ONE(X) \
  X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) \
  X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) \
  X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) \
  X(cbrt) X(erf) X(erfc) X(floor) X(ceil) X(trunc) X(round) X(rint) X(nearbyint)
// clang-format on
LOWP_FUNCTIONS_OF_ONE(LOWP_OF_ONE)
#undef LOWP_FUNCTIONS_OF_ONE
#undef LOWP_OF_ONE

#define LOWP_OF_TWO(name, Second)                                                             \
  template <narrow T>                                                                         \
  LOWP_FN T name(T x, Second y) {                                                             \
    return detail::computed<T>(__builtin_##name(detail::in_double(x), detail::in_double(y))); \
  }
// With a double, the result is one.
#define LOWP_OF_TWO_REALS(name)                       \
  LOWP_OF_TWO(name, T)                                \
  template <narrow T, std::same_as<double> Wide>      \
  LOWP_FN Wide name(T x, Wide y) {                    \
    return __builtin_##name(detail::in_double(x), y); \
  }                                                   \
  template <narrow T, std::same_as<double> Wide>      \
  LOWP_FN Wide name(Wide x, T y) {                    \
    return __builtin_##name(x, detail::in_double(y)); \
  }
LOWP_OF_TWO_REALS(pow)
LOWP_OF_TWO_REALS(hypot)
LOWP_OF_TWO_REALS(atan2)
LOWP_OF_TWO_REALS(fmod)
LOWP_OF_TWO_REALS(remainder)
LOWP_OF_TWO_REALS(fdim)
#undef LOWP_OF_TWO_REALS
LOWP_OF_TWO(ldexp, int)
LOWP_OF_TWO(scalbn, int)
LOWP_OF_TWO(frexp, int*)
#undef LOWP_OF_TWO

/// Returns the fraction of x and stores its integral part; both have the sign of x.
template <narrow T>
LOWP_FN T modf(T x, T* integral_part) {
  double whole;
  double const fraction = __builtin_modf(detail::in_double(x), &whole);
  *integral_part = detail::computed<T>(whole);
  return detail::computed<T>(fraction);
}

/// Returns a + t * (b - a). For finite a and b, it is a at t = 0, b at t = 1, and monotonic in t.
/// It is a if they are equal and t is finite, and no NaN if they differ (C++20 [c.math.lerp]).
template <narrow T>
LOWP_FN T lerp(T a, T b, T t) {
  double const from = detail::in_double(a), weight = detail::in_double(t);
  if (isinf(t) || detail::rank(a) == detail::rank(b))
    return detail::computed<T>(__builtin_fma(weight, detail::in_double(b) - from, from));
  return detail::computed<T>(
      __builtin_fma(weight, detail::in_double(b), __builtin_fma(-weight, from, from)));
}

LOWP_FN constexpr auto fabs(narrow auto x) { return abs(x); }

}  // namespace lowp
