// SPDX-License-Identifier: Apache-2.0
// Doubles rounded to the values of a shorter format, in lanes of any kind.
#pragma once

#include <lowp/format/format.hpp>
#include <lowp/format/rounding.hpp>
#include <lowp/lanes/lanes.hpp>

namespace lowp::detail {

inline constexpr std::uint64_t binary64_sign = std::uint64_t{1} << 63;
LOWP_FN constexpr std::uint64_t binary64_power(int exponent) {
  return static_cast<std::uint64_t>(exponent + 1023) << 52;
}

/// x becomes the odd one of the two multiples of 2^Bits that enclose it, unless it is one.
template <int Bits, class W>
LOWP_FN constexpr void make_odd_multiple(W& x) {
  constexpr std::uint64_t dropped = (std::uint64_t{1} << Bits) - 1;
  x = (x | ((x & dropped) + dropped)) & ~dropped;
}

/// Rounds the pattern of a double, or of its magnitude, to that of a value of F. The double is
/// finite, and a normal number of F.
///
///     | exponent field | F's digits but one | dropped |
///                                           + increment, which carries into what is kept
template <format F, class U, class M, class R>
LOWP_FN constexpr U round_wide_normal(U const& b, M const& negative, U const& random,
                                      R const& rounding) {
  constexpr int dropped = 53 - F.precision();
  U const odd = (b >> dropped) & 1;
  return (b + rounding.template increment<dropped>(odd, negative, random)) &
         ~((std::uint64_t{1} << dropped) - 1);
}

/// Rounds any finite magnitude. F has a zero, and its exponents continue beyond the largest value.
template <format F, class D, class U, class M, class R>
LOWP_FN U round_wide(U const& a, M const& negative, U const& random, R const& rounding) {
  using namespace lanes;
  constexpr std::uint64_t least = binary64_power(F.min_exponent());
  // An addition gives smaller magnitudes the least normal exponent, and with it F's last place.
  U const aligner = (broadcast<U>(0) - ((a - least) >> 63)) & least;
  U const sum = bits(add(from_bits<D>(a), from_bits<D>(aligner)));
  // The sum is rounded down, and made odd if a mode needs the bits below its last one.
  U const error = a - bits(sub(from_bits<D>(sum), from_bits<D>(aligner)));
  U exact = sum - (error >> 63);
  if constexpr (!R::is_stochastic) exact = exact | ((error | (broadcast<U>(0) - error)) >> 63);
  U const kept = round_wide_normal<F>(exact, negative, random, rounding);
  return bits(sub(from_bits<D>(kept), from_bits<D>(aligner)));
}

}  // namespace lowp::detail
