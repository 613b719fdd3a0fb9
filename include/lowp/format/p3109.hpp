// SPDX-License-Identifier: Apache-2.0
// The IEEE P3109 draft, report 4.0 of June 2026: its formats. The library implements the draft; it
// does not claim conformance. stochastic_bits is its StochasticB of 16 bits.
//
//     using binary8p3se = basic_float<p3109(8, 3, p3109_domain::extended)>;
//     using binary8p1uf = basic_float<p3109(8, 1, p3109_domain::finite, p3109_sign::absent)>;
//     auto y = convert<binary8p3se>(x, stochastic_bits{r}, overflow::p3109_propagate);
//
// Its saturation modes: SatFinite is overflow::saturate, SatPropagate is overflow::p3109_propagate
// and SatNone is overflow::p3109_none. In an extended format overflow::infinity is SatNone, too.
// A number that rounds to less than zero becomes zero in a format without sign (4.7.5). By SatNone
// it becomes NaN instead, unless it is finite and the mode is toward_zero or upward. -0 is zero.
#pragma once

#include <lowp/format/format.hpp>

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

}  // namespace lowp
