// SPDX-License-Identifier: Apache-2.0
// The functions of <cmath> for the value types, as C++23 has them for std::bfloat16_t, found by
// argument-dependent lookup.
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
#pragma once

#include <lowp/format/math.hpp>

namespace lowp {

namespace detail {
/// Returns the exact value of x, in a type that the builtins take.
LOWP_FN double in_double(narrow auto x) { return lanes::widen(float{x}); }
LOWP_FN auto in_double(auto x) { return x; }  // an int, or a pointer to one
}  // namespace detail

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
LOWP_OF_TWO(pow, T)
LOWP_OF_TWO(hypot, T)
LOWP_OF_TWO(atan2, T)
LOWP_OF_TWO(fmod, T)
LOWP_OF_TWO(remainder, T)
LOWP_OF_TWO(fdim, T)
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
template <narrow T>
LOWP_FN T lerp(T a, T b, T t) {
  double const from = detail::in_double(a), weight = detail::in_double(t);
  return detail::computed<T>(
      __builtin_fma(weight, detail::in_double(b), __builtin_fma(-weight, from, from)));
}

LOWP_FN constexpr auto fabs(narrow auto x) { return abs(x); }

}  // namespace lowp
