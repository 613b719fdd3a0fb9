// SPDX-License-Identifier: Apache-2.0
// double and integers in lanes of words: taken apart, and rounded once to float in any mode that draws no
// random bits. Rounded to odd, a float keeps at least two digits more than any narrow format has, so
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

/// Of high * 2^32 + low.
template <class U>
LOWP_FN constexpr magnitude_parts<U> parts_of_integer(U const& high, U const& low) {
  using namespace lanes;
  U const zero = spread<U>(0);
  auto const is_short = equal(high, zero);
  U const leading = select(is_short, low, high), trailing = select(is_short, zero, low);
  // Where the leading one is, says the exponent of a float that has 16 of the bits.
  U const upper = leading >> 16;
  auto const is_half = equal(upper, zero);
  U const log2 = (bits(to_real(select(is_half, leading, upper))) >> 23) - 127;
  U const top = select(is_half, log2, log2 + 16);
  U const shift = min(spread<U>(31) - top, spread<U>(31));
  // By two shifts, because one by all bits of a word is undefined.
  U const significand = (leading << shift) | ((trailing >> 1) >> (spread<U>(31) - shift));
  U const dropped = (significand & 1) | (trailing << shift);
  return {(significand >> 1) | is_set(dropped), select(is_short, top, top + 32)};
}

/// The pattern of what is too large for binary32.
template <class U, class M, class R>
LOWP_FN constexpr U beyond_binary32(M const& negative, R const& rounding, overflow policy) {
  using namespace lanes;
  bool const saturates = policy == overflow::saturate;
  auto const pattern = [&](bool is_negative) {
    return spread<U>(binary32_infinity - (saturates || rounding.inward(is_negative) ? 1 : 0));
  };
  return select(negative, pattern(true), pattern(false));
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
  U const beyond = beyond_binary32<U>(negative, rounding, policy);
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

/// An integer's sign, in the top bit, and magnitude to binary32 patterns.
template <class U, class R>
LOWP_FN constexpr U integer_to_binary32(U const& sign, U const& high, U const& low,
                                        R const& rounding, overflow policy) {
  auto const negative = lanes::greater(lanes::spread<U>(0), sign);
  return round_to_binary32(parts_of_integer(high, low), negative, rounding, policy) | sign;
}

}  // namespace lowp::detail
