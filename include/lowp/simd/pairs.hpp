// SPDX-License-Identifier: Apache-2.0
// Two packs that are loaded or stored at once:
//
//     words     [ b0 b1 | b2 b3 | b4 b5 | b6 b7 ]   even pack: b0 b2 b4 b6,  odd pack: b1 b3 b5 b7
//     in order  [ b0 b1   b2 b3 | b4 b5   b6 b7 ]   first:     b0 b1 b2 b3,  second:   b4 b5 b6 b7
//
// A word of two bfloat16 holds the upper halves of two floats: pairs of words need no instruction
// that widens or narrows. Packs in order share a shuffle that narrows them.
#pragma once

#include <lowp/format/codec.hpp>
#include <lowp/format/encode_in_range.hpp>
#include <lowp/simd/pack.hpp>

#include <cstdint>

namespace lowp::simd {

inline constexpr std::uint32_t upper_half = 0xffff0000;

/// Reads a vector from elements in memory.
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
  if (results.continues && all_ordinary<To>(lanes::magnitude(even), low) &&
      all_ordinary<To>(lanes::magnitude(odd), high)) [[likely]] {
    words = (low + low_random) >> 16 | ((high + high_random) & upper_half);
  } else {
    words = encode<To>(low, low_random, rounding, results).code |
            encode<To>(high, high_random, rounding, results).code << 16;
  }
  __builtin_memcpy(to, &words.v, sizeof(words.v));
}

/// Rounds two packs to bfloat16 by additions, infinities included, and stores them in order.
/// Returns false, and stores nothing, if a lane is NaN. One test serves both packs.
template <class Isa, format To, class F, class R>
LOWP_HOST_FN bool store_in_order(void* to, F const& first, F const& second, R const& rounding) {
  if (lanes::any(Isa::unordered(first, second))) return false;
  auto const a = lanes::bits(first), b = lanes::bits(second);
  typedef std::uint16_t halves __attribute__((vector_size(2 * Isa::lanes * sizeof(std::uint16_t))));
  halves codes;
  Isa::join(codes, detail::encode_in_range<To>(a, a, rounding),
            detail::encode_in_range<To>(b, b, rounding));
  __builtin_memcpy(to, &codes, sizeof(codes));
  return true;
}

}  // namespace lowp::simd
