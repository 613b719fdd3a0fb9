// SPDX-License-Identifier: Apache-2.0
// The IEEE P3109 draft, report 4.0 of June 2026: its formats, and stochastic rounding with few
// random bits. The library implements the draft; it does not claim conformance.
//
//     using binary8p3se = basic_float<p3109(8, 3, p3109_domain::extended)>;
//     using binary8p1uf = basic_float<p3109(8, 1, p3109_domain::finite, p3109_sign::absent)>;
//     auto y = convert<binary8p3se>(x, stochastic_b<8>{bits}, overflow::p3109_propagate);
//
// Its saturation modes: SatFinite is overflow::saturate, SatPropagate is overflow::p3109_propagate
// and SatNone is overflow::p3109_none. In an extended format overflow::infinity is SatNone, too.
// A number that rounds to less than zero becomes zero in a format without sign (4.7.5). By SatNone
// it becomes NaN instead, unless it is finite and the mode is toward_zero or upward. -0 is zero.
#pragma once

#include <lowp/format/format.hpp>
#include <lowp/format/rounding.hpp>

namespace lowp {

/// Finite formats have no infinity. In extended ones the largest magnitude is infinite.
enum class p3109_domain : std::uint8_t { finite, extended };

/// Formats without sign begin at zero, and end with infinity, if they have it, and NaN.
enum class p3109_sign : std::uint8_t { present, absent };

/// Returns the format BinaryKpPsf, BinaryKpPse, BinaryKpPuf or BinaryKpPue. K is at least 3, and P
/// from 1 to K, less the sign. Beyond K = 8, format::error() refuses values that are no float.
LOWP_FN constexpr format p3109(int K, int P, p3109_domain domain,
                               p3109_sign sign = p3109_sign::present) {
  bool const has_sign = sign == p3109_sign::present;
  int const exponent_bits = K < 3 ? 0 : K - P + (has_sign ? 0 : 1);
  bool const has_bias = exponent_bits > 0 && exponent_bits <= 16;
  return {exponent_bits, P - 1, has_bias ? 1 << (exponent_bits - 1) : 0,
          domain == p3109_domain::extended ? specials::p3109_extended : specials::nan_negative_zero,
          has_sign};
}

namespace detail {
/// Rounds one value: the fraction's first N bits, by the rule, plus the low N of `r` carry or not.
template <int N, char Rule>
  requires(N >= 1 && N <= 16)
struct few_random_bits {
  std::uint16_t r;

  static constexpr bool is_stochastic = true;
  template <int B, class U, class M>
  LOWP_FN constexpr U increment(U const&, M const&, U const& random) const {
    U const bits = random & ((1u << N) - 1);
    if constexpr (B <= N) {
      return bits >> (N - B);
    } else {
      U const draw = bits << (B - N);
      constexpr auto half_step = typename lane<U>::scalar{1} << (B - N - 1);
      if constexpr (Rule == 'A') return draw;
      if constexpr (Rule == 'B') return draw + half_step;
      // A tie rounds up if the N bits before it are odd. That decides only if they and r make ones,
      // so if r is even.
      return draw + half_step - (random & 1);
    }
  }
  LOWP_FN constexpr bool inward(bool) const { return false; }
};
template <int N, char Rule>
inline constexpr bool takes_bits<few_random_bits<N, Rule>> = true;
}  // namespace detail

/// StochasticA truncates the fraction to N bits: its mean falls short by less than 2^-N of a step.
template <int N>
using stochastic_a = detail::few_random_bits<N, 'A'>;
/// StochasticB rounds the fraction to N bits, half up: `stochastic_bits` is its case of 16.
template <int N>
using stochastic_b = detail::few_random_bits<N, 'B'>;
/// StochasticC rounds the fraction to N bits, ties to even.
template <int N>
using stochastic_c = detail::few_random_bits<N, 'C'>;

}  // namespace lowp
