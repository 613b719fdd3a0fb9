// SPDX-License-Identifier: Apache-2.0
// exp and log in the vocabulary of lanes.hpp, as chains of fused multiply-adds. A float, a pack of
// any instruction set and a CUDA thread get the same bits.
#pragma once

#include <lowp/lanes/lanes.hpp>

namespace lowp::detail {

/// Returns y x + c, rounded once: a step of Horner's scheme, in which y ends.
template <class F>
LOWP_FN F horner(F const& y, F const& x, float c) {
  if constexpr (requires { lane<F>::fma_in_place(y, x, x); })
    return lane<F>::fma_in_place(y, x, lanes::broadcast<F>(c));
  else
    return lanes::fma(y, x, lanes::broadcast<F>(c));
}

/// The signs that select e^x and e^-x.
inline constexpr int of_plus = 1, of_minus = -1;
/// The bias that turns n into an exponent field, for 2^n of e^-x:
///
///     n             field        factor
///     0 .. -150     n + 152      2^(n + 25), a normal number, as its half is
///     -152          0            0: a product that underflows would take a hundred cycles
inline constexpr std::uint32_t minus_exp_bias = 152;
/// The number that rounds another to an integer when added. Its 9 lowest bits are 0 or, for
/// of_minus, the bias; both are even, so neither decides a tie.
template <int Sign>
inline constexpr float exp_rounder = 0x1.8p23f + (Sign == of_minus ? minus_exp_bias : 0);

/// Returns e * 2^n, rounded once, or NaN for NaN. e is in [1/2, 2). n is an integer from -150 to
/// 150 or, for Sign = of_minus, from -152 to 0.
///
/// @param rounded  n + exp_rounder<Sign>
template <int Sign, class F>
LOWP_FN F times_power_of_two(F const& e, F const& n, F const& rounded) {
  if constexpr (requires { lane<F>::times_power_of_two(e, n); }) {
    if constexpr (Sign == of_minus)
      return lane<F>::times_power_of_two(e, n, lanes::broadcast<F>(-152.0f));
    else
      return lane<F>::times_power_of_two(e, n);
  } else if constexpr (Sign == of_minus) {
    // The first product is exact, so that only the second one rounds; below -150 both become 0.
    F const product = lanes::mul(e, lanes::from_bits<F>(lanes::bits(rounded) << 23));
    return lanes::mul(product, lanes::broadcast<F>(0x1p-25f));
  } else {
    // 2^n in two factors, each with half the exponent: the first product is exact.
    auto const shifted = lanes::bits(rounded) - (lanes::bits(exp_rounder<Sign>) - 256u);
    auto const first = shifted >> 1;
    F const product = lanes::mul(e, lanes::from_bits<F>((first - 1u) << 23));
    return lanes::mul(product, lanes::from_bits<F>((shifted - first - 1u) << 23));
  }
}

/// Returns e^(Sign x) for NaN and for x in [-104, 104] or, for Sign = of_minus, in [0, 105.5]. The
/// sign of a zero does not matter. With a `surplus`, at most half a unit in the last place of x, it
/// returns e^(Sign (x - surplus)).
template <int Sign, class F, class... Surplus>
LOWP_FN F bounded_exp(F const& x, Surplus const&... surplus) {
  // Sign x = n ln 2 + Sign r: n is an integer, |r| at most slightly above half of ln 2. Adding
  // 1.5 * 2^23 rounds Sign x / ln 2 to an integer in the low bits. n times the high part of ln 2 is
  // exact (W. J. Cody, W. Waite, Software Manual for the Elementary Functions, 1980, chapter 6).
  constexpr float log2_e = Sign * 0x1.715476p0f;
  constexpr float minus_ln2_high = -Sign * 0x1.62e4p-1f, minus_ln2_low = -Sign * 0x1.7f7d1cp-20f;
  F const rounded =
      lanes::fma(x, lanes::broadcast<F>(log2_e), lanes::broadcast<F>(exp_rounder<Sign>));
  F const n = lanes::sub(rounded, lanes::broadcast<F>(exp_rounder<Sign>));
  F r = lanes::fma(n, lanes::broadcast<F>(minus_ln2_low),
                   lanes::fma(n, lanes::broadcast<F>(minus_ln2_high), x));
  ((r = lanes::sub(r, surplus)), ...);

  // 1 + y + y^2 q(y) for y = Sign r. The polynomial q of degree 4 minimises the greatest relative
  // error of the result. With coefficients rounded to float, that error is 0.055 * 2^-24.
  F e = lanes::broadcast<F>(0x1.6ac36cp-10f);
  e = horner(e, r, Sign * 0x1.123da6p-7f);
  e = horner(e, r, 0x1.555858p-5f);
  e = horner(e, r, Sign * 0x1.55548cp-3f);
  e = horner(e, r, 0x1.fffffcp-2f);
  e = horner(e, r, Sign * 1.0f);
  e = horner(e, r, 1.0f);
  return times_power_of_two<Sign>(e, n, rounded);
}

inline constexpr float exp_bound = 104;           ///< e^-104 rounds to 0, e^104 to infinity
inline constexpr float minus_exp_bound = 105.5f;  ///< where n is -152

/// Returns e^-x for x >= 0, infinity included, and NaN for NaN.
template <class F>
LOWP_FN F exp_of_minus(F const& x) {
  return bounded_exp<of_minus>(lanes::smaller_or_nan(x, lanes::broadcast<F>(minus_exp_bound)));
}

}  // namespace lowp::detail

namespace lowp::lanes {

/// Returns e^x for every float, within 0.90 units in the last place, subnormal results included.
/// The result is 0 below -103.97 and infinity above 88.72. A NaN is returned as given.
template <class F>
LOWP_FN F exp(F const& x) {
  using U = word<F>;
  U const m = min(magnitude(x), broadcast<U>(bits(detail::exp_bound))) | (bits(x) & binary32_sign);
  return select(is_nan(x), x, detail::bounded_exp<detail::of_plus>(from_bits<F>(m)));
}

/// Returns ln x for a normal positive x, within 0.84 units in the last place.
///
/// It follows logf of FreeBSD (lib/msun/src/e_logf.c, and its constants), with fused products:
///
///     x = 2^k m with m between sqrt(1/2) and sqrt(2), f = m - 1, s = f / (2 + f)
///     ln m = f - f^2/2 + s (f^2/2 + R(s))
template <class F>
LOWP_FN F log(F const& x) {
  using U = word<F>;
  constexpr std::uint32_t root_of_half = 0x3f3504f3, bias = 128;
  constexpr float ln2_high = 6.9313812256e-01f, ln2_low = 9.0580006145e-06f;
  F const one = broadcast<F>(1.0f);
  U const shifted = bits(x) - root_of_half + (bias << 23);
  F const k = sub(to_real(shifted >> 23), broadcast<F>(static_cast<float>(bias)));
  F const f = sub(from_bits<F>((shifted & 0x7fffff) + root_of_half), one);
  F const s = div(f, add(f, broadcast<F>(2.0f)));
  F const z = mul(s, s);
  F const w = mul(z, z);
  F const even = mul(w, fma(w, broadcast<F>(0xf89e26.0p-26f), broadcast<F>(0xccce13.0p-25f)));
  F const r = fma(z, fma(w, broadcast<F>(0x91e9ee.0p-25f), broadcast<F>(0xaaaaaa.0p-24f)), even);
  F const half_square = mul(mul(broadcast<F>(0.5f), f), f);
  F const rest = sub(fma(s, add(half_square, r), mul(k, broadcast<F>(ln2_low))), half_square);
  return fma(k, broadcast<F>(ln2_high), add(rest, f));
}

}  // namespace lowp::lanes
