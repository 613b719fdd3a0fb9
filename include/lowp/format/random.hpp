// SPDX-License-Identifier: Apache-2.0
// Counter-based random bits: a pure function of (counter, key), so there is no state to save.
#pragma once

#include <lowp/lanes/lanes.hpp>

namespace lowp {

struct philox_keys {
  std::uint32_t round[10][2];

  LOWP_FN constexpr philox_keys(std::uint32_t key0, std::uint32_t key1) : round{} {
    constexpr std::uint32_t weyl0 = 0x9E3779B9, weyl1 = 0xBB67AE85;
    LOWP_UNROLL
    for (auto& key : round) {
      key[0] = key0;
      key[1] = key1;
      key0 += weyl0;
      key1 += weyl1;
    }
  }
};

namespace detail {

inline constexpr std::uint32_t philox_multiplier0 = 0xD2511F53, philox_multiplier1 = 0xCD9E8D57;

template <int First, class U>
LOWP_FN constexpr void philox_rounds(U (&word)[4], philox_keys const& keys) {
  LOWP_UNROLL
  for (int i = First; i < 10; ++i) {
    auto const product0 = lanes::mul_wide(word[0], philox_multiplier0);
    auto const product1 = lanes::mul_wide(word[2], philox_multiplier1);
    word[0] = lanes::xor3(product1.high, word[1], keys.round[i][0]);
    word[1] = product1.low;
    word[2] = lanes::xor3(product0.high, word[3], keys.round[i][1]);
    word[3] = product0.low;
  }
}

/// The words of a block that do not depend on the draw.
template <class U>
struct philox_start {
  U word1, word3, high, low;
};

/// The elements of a group: those whose draws one block keys.
inline constexpr std::uint32_t group_size = 128;

/// Maps numbers of 16 bits to others, one to one. The bits outside `all` are zero. A vector is not
/// passed by value: its calling convention depends on the unit's flags.
template <class U>
LOWP_FN constexpr void multiply_twice(U& x, U const& factor, U const& all) {
  x = x * factor;
  x = (x ^ x >> 7) & all;
  x = x * 0xDB2D;
}
template <class U>
LOWP_FN constexpr void scatter(U& x, U const& factor, U const& all) {
  multiply_twice(x, factor, all);
  x = (x ^ x >> 8) & all;
}
/// Returns an odd factor, of which 16 bits matter.
LOWP_FN constexpr std::uint32_t factor_of_place(std::uint32_t place) {
  return place * 0x9E37 + (~place & 1);
}

/// Returns the draw at a place of a group, before scatter's last step, as the high half of a word.
/// The key is a block: eight words of 16 bits, low halves first. Bits of the place select among the
/// first seven; the last is always in the sum. See tests/proof/README.md.
LOWP_FN constexpr std::uint32_t keyed_product(std::uint32_t const (&key)[4], std::uint32_t place) {
  constexpr std::uint32_t high_half = 0xffff0000;
  std::uint32_t sum = key[3] & high_half;
  LOWP_UNROLL
  for (int bit = 6; bit >= 0; --bit) {  // the bits that a GPU thread's elements share come first
    std::uint32_t const word = bit % 2 == 0 ? key[bit / 2] << 16 : key[bit / 2] & high_half;
    sum ^= (place >> bit & 1) != 0 ? word : 0;
  }
  multiply_twice(sum, factor_of_place(place), high_half);
  return sum;
}
/// Returns the draws of two products, the first one's in the low half.
LOWP_FN constexpr std::uint32_t draws_of_products(std::uint32_t low, std::uint32_t high) {
  std::uint32_t const both = (low >> 16) + high;
  return both ^ (both >> 8 & 0x00ff00ff);
}

}  // namespace detail

// The name is in parentheses, because Random123 has a macro with arguments of the same name.

/// Computes Philox4x32-10 on lanes: the counter in word[0..3] becomes the random words. J. Salmon,
/// M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
template <class U>
LOWP_FN constexpr void(philox4x32)(U (&word)[4], philox_keys const& keys) {
  detail::philox_rounds<0>(word, keys);
}

/// Computes one block. Known answer: counter 0, key 0 -> 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
LOWP_HOST_FN constexpr std::array<std::uint32_t, 4>(philox4x32)(
    std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  std::uint32_t word[4] = {counter[0], counter[1], counter[2], counter[3]};
  (philox4x32)(word, philox_keys(key[0], key[1]));
  return {word[0], word[1], word[2], word[3]};
}

/// Returns the stream of a tensor and the low 32 bits of a step. No two of these share random bits;
/// steps 2^32 apart do.
LOWP_FN constexpr std::uint64_t stream_of(std::uint32_t tensor, std::uint64_t step) {
  return std::uint64_t{tensor} << 32 | (step & 0xffffffff);
}

/// The source of one draw of 16 bits per element. Draw 0 is for the parameter, 1 and 2 for the
/// first and second moment.
struct random_source {
  std::uint64_t seed, stream;
  std::uint32_t draw = 0;
  bool is_keyed = false;  ///< a block keys 128 elements; otherwise it holds the draws of eight

  static constexpr std::uint64_t elements_per_block = 8;

  /// Returns an index whose block is the key of the group with element `index`.
  LOWP_FN static constexpr std::uint64_t index_of_key(std::uint64_t index) {
    return index / detail::group_size * elements_per_block;
  }

  /// Returns words 0 and 1 of a block's counter; words 2 and 3 are the stream.
  ///
  ///     | draw (3 bits) | element index / 8 (61 bits) |
  LOWP_FN constexpr std::uint64_t counter(std::uint64_t index) const {
    return index / elements_per_block | std::uint64_t{draw} << 61;
  }

  LOWP_FN constexpr philox_keys keys() const {
    return {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  }

  /// Computes the first three rounds of several blocks, in lanes, as far as all draws share them.
  /// `low` holds the low words of their counters, and `keys` are keys(). The stream, words 2 and 3,
  /// is the same in all lanes: half of the products of two rounds are numbers.
  template <class U>
  LOWP_FN constexpr detail::philox_start<U> start(U const& low, philox_keys const& keys) const {
    auto const of_low = lanes::mul_wide(low, detail::philox_multiplier0);
    auto const of_2 = lanes::mul_wide(of_low.high ^ (high_half(stream) ^ keys.round[0][1]),
                                      detail::philox_multiplier1);
    std::uint32_t const uniform = low_half(of_stream()) ^ keys.round[1][0];
    auto const of_0 = lanes::mul_wide(of_2.high ^ uniform, detail::philox_multiplier0);
    return {of_2.low, of_low.low, of_0.high, of_0.low};
  }
  template <class U>
  LOWP_FN constexpr void words(U (&word)[4], detail::philox_start<U> const& start,
                               std::uint64_t counter_of_any, philox_keys const& keys) const {
    std::uint32_t const uniform =
        high_half(of_stream()) ^ high_half(counter_of_any) ^ keys.round[0][0];
    std::uint64_t const of_uniform = std::uint64_t{uniform} * detail::philox_multiplier0;
    auto const of_2 = lanes::mul_wide(start.word3 ^ (high_half(of_uniform) ^ keys.round[1][1]),
                                      detail::philox_multiplier1);
    word[0] = lanes::xor3(of_2.high, start.word1, keys.round[2][0]);
    word[1] = of_2.low;
    word[2] = start.high ^ (low_half(of_uniform) ^ keys.round[2][1]);
    word[3] = start.low;
    detail::philox_rounds<3>(word, keys);
  }

  /// Computes the block that holds the draw of an element, or its key.
  LOWP_FN constexpr void block(std::uint32_t (&word)[4], std::uint64_t index,
                               philox_keys const& keys) const {
    std::uint64_t const number = counter(is_keyed ? index_of_key(index) : index);
    words(word, start(low_half(number), keys), number, keys);
  }
  /// Returns the draw of one element, from a key or from a block of four words:
  ///
  ///     word          0  1  2  3
  ///     low half  ->  0  1  2  3
  ///     high half ->  4  5  6  7    index % 8
  LOWP_FN constexpr std::uint32_t operator()(std::uint64_t index) const {
    std::uint32_t word[4] = {};
    block(word, index, keys());
    if (is_keyed)
      return detail::draws_of_products(
          detail::keyed_product(word, low_half(index) % detail::group_size), 0);
    std::uint64_t const element = index % elements_per_block;
    return word[element % 4] >> (element < 4 ? 0 : 16) & 0xffff;
  }

 private:
  LOWP_FN static constexpr std::uint32_t low_half(std::uint64_t x) {
    return static_cast<std::uint32_t>(x);
  }
  LOWP_FN static constexpr std::uint32_t high_half(std::uint64_t x) {
    return static_cast<std::uint32_t>(x >> 32);
  }
  LOWP_FN constexpr std::uint64_t of_stream() const {
    return (stream & 0xffffffff) * detail::philox_multiplier1;
  }
};

}  // namespace lowp
