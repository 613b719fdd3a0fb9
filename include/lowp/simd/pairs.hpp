// SPDX-License-Identifier: Apache-2.0
// Two packs that are loaded or stored at once:
//
//     words     [ b0 b1 | b2 b3 | b4 b5 | b6 b7 ]   even pack: b0 b2 b4 b6,  odd pack: b1 b3 b5 b7
//     in order  [ b0 b1   b2 b3 | b4 b5   b6 b7 ]   first:     b0 b1 b2 b3,  second:   b4 b5 b6 b7
//
// A word of two bfloat16 holds the upper halves of two floats: pairs of words need no instruction
// that widens or narrows. Packs in order share a shuffle that narrows them. The last
// functions store single packs of bfloat16 and return the values.
#pragma once

#include <lowp/format/basic_float.hpp>
#include <lowp/format/encode_in_range.hpp>
#include <lowp/simd/pack.hpp>

namespace lowp::simd {

inline constexpr std::uint32_t upper_half = 0xffff0000;

template <class Isa, class T>
using codes_of_pair =
    typename vector_of<std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>,
                       2 * Isa::lanes>::type;

template <class V>
LOWP_HOST_FN V word_of_elements(void const* at) {
  V words;
  __builtin_memcpy(&words.v, at, sizeof(words.v));
  return words;
}

/// Rounds the even and the odd elements of words, and stores them. `random` has 16 bits for each.
template <format To, class F, class U, class R>
LOWP_HOST_FN void store_words(void* to, F const& even, F const& odd, U const& random,
                              R const& rounding, detail::special_results<U> const& results) {
  using detail::all_ordinary, detail::encode;
  U const low = lanes::bits(even), low_random = random & ~upper_half;
  U const high = lanes::bits(odd), high_random = random >> 16;
  U words;
  if (results.overflow_is_next_code && all_ordinary<To>(lanes::magnitude(even), low) &&
      all_ordinary<To>(lanes::magnitude(odd), high)) [[likely]] {
    words = (low + low_random) >> 16 | ((high + high_random) & upper_half);
  } else {
    words = encode<To>(low, low_random, rounding, results).code |
            encode<To>(high, high_random, rounding, results).code << 16;
  }
  __builtin_memcpy(to, &words.v, sizeof(words.v));
}

/// True if an addition rounds to a code of T without its sign, in a word's low byte.
template <class T, class R>
inline constexpr bool rounds_to_low_bytes =
    detail::one_of<T, float8_e4m3fn, float8_e5m2> && std::is_same_v<R, nearest_even>;

/// True if additions round most numbers to T without a branch, and Isa has what narrows two packs.
template <class Isa, class T, class R>
inline constexpr bool is_rounded_by_addition =
    requires(codes_of_pair<Isa, T> codes, pack<float, typename Isa::registers> x) {
      requires rounds_to_low_bytes<T, R>;
      Isa::join_low_bytes(codes, lanes::bits(x), lanes::bits(x), x, x);
    } || requires(codes_of_pair<Isa, T> codes, pack<float, typename Isa::registers> x) {
      requires(std::is_same_v<T, bfloat16> && std::is_same_v<R, nearest_even>) ||
                  (detail::one_of<T, bfloat16, float16, float8_e4m3fn, float8_e5m2> &&
                   std::is_same_v<R, stochastic_fast>);
      Isa::unordered(x, x);
      Isa::join(codes, lanes::bits(x), lanes::bits(x));
    };

/// Returns the codes of numbers that an addition rounds: normal ones of T if random bits are drawn.
template <class T, class U, class R>
LOWP_HOST_FN U code_in_range(U const& x, U const& random, R const& rounding) {
  constexpr format to = T::descriptor;
  if constexpr (detail::draws_bits<R> && !std::is_same_v<T, bfloat16>) {
    U const sign = (x >> (32 - to.bits())) & to.sign_mask();
    U const magnitude = x & (lanes::binary32_sign - 1);
    return sign | detail::round_normal<to>(magnitude, magnitude, random, rounding);
  } else {
    return detail::encode_in_range<to>(x, random, rounding);
  }
}

/// Rounds two packs by additions and stores them in order. Returns false, and stores nothing, if a
/// lane is NaN or above T's largest number, less bfloat16's infinity; or, if it draws bits, below
/// T's least normal number, less bfloat16's. One test serves both packs.
template <class Isa, class T, class F, class U, class R>
LOWP_HOST_FN bool store_in_order(void* to, F const& first, F const& second, U const& first_random,
                                 U const& second_random, R const& rounding) {
  constexpr bool draws = detail::draws_bits<R> && !std::is_same_v<T, bfloat16>;
  if constexpr (std::is_same_v<T, bfloat16>) {
    if (lanes::any(Isa::unordered(first, second))) [[unlikely]]
      return false;
  } else {
    constexpr auto largest = lanes::bits(float(std::numeric_limits<T>::max()));
    constexpr auto least = lanes::bits(float(std::numeric_limits<T>::min()));
    U const larger = lanes::max(lanes::magnitude(first), lanes::magnitude(second));
    auto refused = lanes::greater(larger, lanes::broadcast<U>(largest));
    if constexpr (draws) {
      U const smaller = lanes::min(lanes::magnitude(first), lanes::magnitude(second));
      refused = lanes::mask_or(refused, lanes::greater(lanes::broadcast<U>(least), smaller));
    }
    if (lanes::any(refused)) [[unlikely]]
      return false;
  }
  codes_of_pair<Isa, T> codes;
  if constexpr (rounds_to_low_bytes<T, R>)
    Isa::join_low_bytes(
        codes, detail::round_in_range_to_nearest<T::descriptor>(lanes::magnitude(first)),
        detail::round_in_range_to_nearest<T::descriptor>(lanes::magnitude(second)), first, second);
  else
    Isa::join(codes, code_in_range<T>(lanes::bits(first), first_random, rounding),
              code_in_range<T>(lanes::bits(second), second_random, rounding));
  __builtin_memcpy(to, &codes, sizeof(codes));
  return true;
}

/// Rounds a pack to bfloat16 and stores it. Returns the bits of the stored values. `is_ieee` says
/// that special results are those of a backend's instruction.
template <class Isa, class Encoded, class F, class U, class R>
LOWP_HOST_FN Encoded store_bfloat16(void* to, F const& x, U const& random, R const& rounding,
                                    detail::special_results<U> const& results, bool is_ieee) {
  using registers = typename Isa::registers;
  pack<std::uint16_t, registers> codes;
  if constexpr (requires(U bits) { Isa::encode_all(rounding, codes, bits, x); }) {
    U bits;
    if (is_ieee && Isa::encode_all(rounding, codes, bits, x)) [[likely]] {
      __builtin_memcpy(to, &codes.v, sizeof(codes.v));
      return {bits, {}};
    }
  }
  Encoded s = detail::encode<bfloat16::descriptor, true>(lanes::bits(x), random, rounding, results);
  if constexpr (requires { registers::take_upper(codes, s.code); }) {
    U upper = lanes::broadcast<U>(upper_half);
    registers::hide(upper.v);  // g++ would make it anew for each pack
    s.code = (s.code << 16) & upper;
    registers::take_upper(codes, s.code);
  } else {
    codes = s.code.template converted<std::uint16_t>();
    s.code = s.code << 16;
  }
  __builtin_memcpy(to, &codes.v, sizeof(codes.v));
  return s;
}

}  // namespace lowp::simd
