// SPDX-License-Identifier: Apache-2.0
// double in lanes of words: taken apart, and rounded once to float in any mode that draws no random bits.
// Rounded to odd, a float keeps at least two digits more than any narrow format has, so
// that a second rounding gives what one would have (S. Boldo, G. Melquiond, IEEE TC 57, 2008).
#pragma once

#include <lowp/lanes.hpp>
#include <lowp/overflow.hpp>
#include <lowp/rounding.hpp>

#include <cstdint>

namespace lowp::detail {

/// A magnitude: significand * 2^(exponent - 30). The significand has 31 bits, the top one set unless the
/// magnitude is zero; bit 0 is also set if something below it was dropped.
template <class U>
struct magnitude_parts {
  U significand, exponent;
};

/// 1 where a is not zero.
template <class U>
LOWP_FN constexpr U is_set(U const& a) {
  U const zero = lanes::spread<U>(0);
  return lanes::select(lanes::equal(a, zero), zero, lanes::spread<U>(1));
}

/// Of a binary64 magnitude. Its subnormals come out as other numbers as far below every float.
template <class U>
LOWP_FN constexpr magnitude_parts<U> parts_of_binary64(U const& high, U const& low) {
  U const leading = ((high & 0xfffff) + (1u << 20)) << 10;
  U const significand = leading | (low >> 22) | is_set(low << 10);
  U const zero = lanes::spread<U>(0);
  return {lanes::select(lanes::equal(high | low, zero), zero, significand), (high >> 20) - 1023};
}

/// All of these binary32 magnitudes are normal: below the least, subtraction wraps to what is large.
template <class U>
LOWP_FN constexpr bool are_normal(U const& a) {
  constexpr std::uint32_t least = 1u << 23, origin = least + lanes::binary32_sign;
  return !lanes::any(
      lanes::greater(a - origin, lanes::spread<U>(lanes::binary32_infinity - 1 - origin)));
}

/// What is too large for binary32 becomes infinity, or the finite value before it.
template <class U, class R>
LOWP_FN constexpr U beyond_binary32(bool negative, R const& rounding, overflow policy) {
  bool const is_finite = policy == overflow::saturate || rounding.inward(negative);
  return lanes::spread<U>(lanes::binary32_infinity - (is_finite ? 1 : 0));
}

/// The binary32 pattern of the magnitude, rounded.
template <class U, class M, class R>
LOWP_FN constexpr U round_to_binary32(magnitude_parts<U> const& x, M const& negative,
                                      R const& rounding, overflow policy) {
  using namespace lanes;
  constexpr int dropped = 7;
  U const zero = spread<U>(0), least = spread<U>(static_cast<std::uint32_t>(-126));
  U significand = x.significand, exponent = x.exponent;
  if (any(greater(least, exponent))) {  // subnormal, or zero
    U const shift = min(max(least - exponent, zero), spread<U>(31));
    U const kept = significand >> shift;
    significand = kept | is_set(significand - (kept << shift));
    exponent = max(exponent, least);
  }
  U const odd = (significand >> dropped) & 1;
  U const increment = rounding.template increment<dropped>(odd, negative, zero);
  U const beyond = select(negative, beyond_binary32<U>(true, rounding, policy),
                          beyond_binary32<U>(false, rounding, policy));
  U const magnitude = ((exponent - least) << 23) + ((significand + increment) >> dropped);
  return select(greater(exponent, spread<U>(127)), beyond, min(magnitude, beyond));
}

/// binary64, in two words, to binary32 patterns.
template <class U, class R>
LOWP_FN constexpr U binary64_to_binary32(U const& high, U const& low, R const& rounding,
                                         overflow policy) {
  using namespace lanes;
  constexpr std::uint32_t infinity = 0x7ff00000;
  U const zero = spread<U>(0), sign = high & binary32_sign, magnitude = high - sign;
  U rounded =
      round_to_binary32(parts_of_binary64(magnitude, low), greater(zero, high), rounding, policy);
  auto const special = greater(magnitude, spread<U>(infinity - 1));
  if (any(special)) {
    U const payload = ((magnitude << 3) | (low >> 29)) & (binary32_sign - 1);
    U const infinite = spread<U>(binary32_infinity - (policy == overflow::saturate ? 1 : 0));
    auto const is_infinite = equal((magnitude - infinity) | low, zero);
    rounded = select(special, select(is_infinite, infinite, payload | binary32_nan), rounded);
  }
  return rounded | sign;
}

}  // namespace lowp::detail
