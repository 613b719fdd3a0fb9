// SPDX-License-Identifier: Apache-2.0
// The 16 random bits of each element, a batch at a time. Each lane computes one Philox block: the
// draws of eight elements, or the key of 128.
#pragma once

#include <lowp/format/rounding.hpp>
#include <lowp/simd/pack.hpp>

#include <bit>

namespace lowp::simd {

/// The chains of Philox in a batch, and how many of them run at once. One chain of ten rounds waits
/// for each of its multiplications; four need more registers than AVX2 has.
inline constexpr int chains = 4;
template <class Isa>
inline constexpr int chains_at_once = chains;
template <class Isa>
  requires requires { Isa::chains_at_once; }
inline constexpr int chains_at_once<Isa> = Isa::chains_at_once;

/// The elements of a batch: a block of eight for each 64-bit lane of each chain.
template <class Isa>
inline constexpr int batch =
    chains * Isa::lanes / 2 * static_cast<int>(random_source::elements_per_block);

/// Words of Philox blocks, in the low halves of 64-bit lanes: a register for each chain.
template <class Isa>
struct block_words : wide_pack<std::uint64_t, Isa, chains_at_once<Isa>> {
  static constexpr int count = chains_at_once<Isa>;
};

}  // namespace lowp::simd

namespace lowp {
template <class Isa>
struct lane<simd::block_words<Isa>> {
  using scalar = std::uint32_t;
  using W = simd::block_words<Isa>;
  struct halves {
    W high, low;
  };
  LOWP_HOST_FN static W broadcast(std::uint32_t x) {
    simd::word<Isa> word;
    Isa::broadcast(word.v, x);
    W w;
    LOWP_UNROLL
    for (int i = 0; i < W::count; ++i) w.v[i] = typename W::vector(word.v);
    return w;
  }
  LOWP_HOST_FN static halves mul_wide(W const& a, std::uint32_t b) {
    W const factor = broadcast(b);
    halves p;
    LOWP_UNROLL
    for (int i = 0; i < W::count; ++i) Isa::mul_wide(p.low.v[i], p.high.v[i], a.v[i], factor.v[i]);
    return p;
  }
  LOWP_HOST_FN static W xor3(W const& a, W const& b, std::uint32_t const& key) {
    W w;
    if constexpr (requires { Isa::xor3(w.v[0], a.v[0], b.v[0], key); }) {
      LOWP_UNROLL
      for (int i = 0; i < W::count; ++i) Isa::xor3(w.v[i], a.v[i], b.v[i], key);
    } else {
      W const keys = broadcast(key);
      LOWP_UNROLL
      for (int i = 0; i < W::count; ++i) w.v[i] = a.v[i] ^ b.v[i] ^ keys.v[i];
    }
    return w;
  }
};
}  // namespace lowp

namespace lowp::simd {

template <class Isa>
LOWP_HOST_FN block_words<Isa> operator^(block_words<Isa> const& a, std::uint32_t b) {
  block_words<Isa> w = lane<block_words<Isa>>::broadcast(b);
  LOWP_UNROLL
  for (int i = 0; i < block_words<Isa>::count; ++i) w.v[i] = a.v[i] ^ w.v[i];
  return w;
}

/// The blocks of the lanes: numbers of even lanes, then of odd ones, are in the blocks' order.
template <class Isa>
inline constexpr auto order_of_blocks = [] {
  constexpr std::size_t lanes = Isa::lanes / 2;
  std::array<std::uint64_t, chains * lanes> number{};
  for (std::size_t at = 0; at < number.size(); ++at)
    number[at] = at / lanes * lanes + at % 2 * (lanes / 2) + at % lanes / 2;
  return number;
}();

/// The start of a batch's blocks, for every operand of a kernel whose draw shares it.
template <class Isa>
struct batch_start {
  using W = block_words<Isa>;
  detail::philox_start<W> blocks[std::size_t{chains / W::count}];
  std::uint64_t seed = 0, stream = 0, index = 0;
  bool is_made = false;

  LOWP_HOST_FN void make(random_source const& source, philox_keys const& keys,
                         std::uint64_t first) {
    if (is_made && seed == source.seed && stream == source.stream && index == first) return;
    auto const* order = order_of_blocks<Isa>.data();
    LOWP_KEEP_LOOP
    for (auto& part : blocks) {
      W number, low = lane<W>::broadcast(static_cast<std::uint32_t>(source.counter(first)));
      __builtin_memcpy(&number.v, order, sizeof(number.v));
      order += W::count * Isa::lanes / 2;
      LOWP_UNROLL
      for (int i = 0; i < W::count; ++i) low.v[i] += number.v[i];
      part = source.start(low, keys);
    }
    seed = source.seed;
    stream = source.stream;
    index = first;
    is_made = true;
  }
};

/// Computes the bits of a batch of elements from `index`, a multiple of the batch.
template <class Isa>
LOWP_HOST_FN void random_batch(random_source const& source, philox_keys const& keys,
                               std::uint64_t index, batch_start<Isa>& start, std::uint16_t* bits) {
  using W = block_words<Isa>;
  using V = typename W::vector;
  start.make(source, keys, index);
  LOWP_KEEP_LOOP
  for (auto const& part : start.blocks) {
    W w[4];
    source.words(w, part, source.counter(index), keys);

    // A block is eight numbers of 16 bits: the low halves of its words, then the high halves.
    LOWP_UNROLL
    for (int i = 0; i < W::count; ++i, bits += 4 * Isa::lanes) {
      V const words[] = {w[0].v[i], w[1].v[i], w[2].v[i], w[3].v[i]};
      V pair[2];
      Isa::numbers(pair[0], pair[1], words);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__  // the first of four numbers is the lowest of its word
      for (V& v : pair) {
        v = v << 32 | v >> 32;
        v = (v & 0x0000ffff0000ffff) << 16 | (v >> 16 & 0x0000ffff0000ffff);
      }
#endif
      __builtin_memcpy(bits, &pair, sizeof(pair));
    }
  }
}

/// Numbers of 16 bits in a register.
template <class Isa>
using numbers = typename vector_of<std::uint16_t, 2 * Isa::lanes>::type;

/// The lanes whose number has a bit set, for each bit.
template <class Isa>
inline constexpr auto lanes_with_bit = [] {
  constexpr unsigned lanes = 2 * Isa::lanes;
  constexpr auto bits = static_cast<std::size_t>(std::countr_zero(lanes));
  std::array<std::array<std::uint16_t, lanes>, bits> masks{};
  for (unsigned bit = 0; bit < masks.size(); ++bit)
    for (unsigned number = 0; number < lanes; ++number)
      masks[bit][number] = (number >> bit & 1) != 0 ? 0xffff : 0;
  return masks;
}();

inline constexpr auto factors_of_places = [] {
  std::array<std::uint16_t, detail::group_size> factors{};
  for (std::uint32_t place = 0; place < factors.size(); ++place)
    factors[place] = static_cast<std::uint16_t>(detail::factor_of_place(place));
  return factors;
}();

/// Computes the draws of a group, or of the half that begins at `place`. The key has the order of
/// random_batch: four low halves, followed by four high ones.
template <class Isa, int Count>
LOWP_HOST_FN void draws_of_group(std::uint16_t const* key, std::uint32_t place,
                                 std::uint16_t* bits) {
  using V = numbers<Isa>;
  constexpr int lanes = 2 * Isa::lanes, registers = Count / lanes;
  constexpr int bits_of_lane = std::countr_zero(unsigned{lanes});
  auto const word = [&](int number) { return key[number / 2 + number % 2 * 4]; };
  V sum[std::size_t{registers}];
  Isa::broadcast(sum[0], word(7));
  LOWP_UNROLL
  for (int bit = 0; bit < bits_of_lane; ++bit) {
    V word_of_bit, mask;
    Isa::broadcast(word_of_bit, word(bit));
    __builtin_memcpy(&mask, &lanes_with_bit<Isa>[static_cast<std::size_t>(bit)], sizeof(mask));
    sum[0] ^= word_of_bit & mask;
  }
  if constexpr (Count < int{detail::group_size}) {
    static_assert(2 * Count == detail::group_size);
    if (place != 0) sum[0] ^= word(6);
  }
  constexpr int bits_of_register = std::countr_zero(unsigned{registers});
  V words[std::size_t{bits_of_register}];
  LOWP_UNROLL
  for (int bit = 0; bit < bits_of_register; ++bit)
    Isa::broadcast(words[bit], word(bits_of_lane + bit));
  LOWP_UNROLL
  for (unsigned i = 1; i < registers; ++i) sum[i] = sum[i & (i - 1)] ^ words[std::countr_zero(i)];
  LOWP_UNROLL
  for (int i = 0; i < registers; ++i) {
    V factor;
    __builtin_memcpy(&factor, factors_of_places.data() + place + i * lanes, sizeof(factor));
    detail::scatter(sum[i], factor, ~V{});
    __builtin_memcpy(bits + i * lanes, &sum[i], sizeof(V));
  }
}

/// Successive batches of random bits that the mode R draws, from any element.
template <class Isa, class R>
class random_batches {
 public:
  LOWP_HOST_FN random_batches() {}  // a kernel that draws nothing does not pay for clear memory

  LOWP_HOST_FN void start(random_source const& source, std::uint64_t index) {
    source_ = source;
    keys_ = source.keys();
    shift_ = static_cast<int>(index % batch<Isa>);
    index_ = index - static_cast<std::uint64_t>(shift_);
    first_key_ = random_source::index_of_key(index_) + 1;
    // A call: a second copy of Philox in every kernel would take as long to compile as the kernel.
    if (batch_start<Isa> start; shift_ != 0) Isa::enter(refill_call{*this, start});
  }

  /// Returns the bits of the next batch<Isa> elements. `start` is that of another operand, or new.
  /// Those of stochastic_fast are in `to`, if that is not null.
  LOWP_HOST_FN std::uint16_t const* next(batch_start<Isa>&& start = {},
                                         [[maybe_unused]] std::uint16_t* to = nullptr) {
    if (shift_ != 0) __builtin_memcpy(bits_, bits_ + batch<Isa>, sizeof(bits_) / 2);
    if constexpr (is_always_keyed) {
      refill_from_keys(to == nullptr || shift_ != 0 ? bits_ + batch<Isa> : to);
      if (to != nullptr && shift_ != 0) __builtin_memcpy(to, bits_ + shift_, sizeof(bits_) / 2);
      if (to != nullptr) return to;
    } else if (!is_lean<Isa> && (is_never_keyed || !source_.is_keyed)) {
      refill(start);
    } else {
      Isa::enter(refill_call{*this, start});
    }
    return bits_ + (shift_ != 0 ? shift_ : batch<Isa>);
  }

 private:
  static constexpr bool is_always_keyed = std::same_as<R, stochastic_fast>;
  static constexpr bool is_never_keyed = std::same_as<R, stochastic>;

  struct refill_call {
    random_batches& batches;
    batch_start<Isa>& start;
    template <class>
    LOWP_HOST_FN void body() const {
      if constexpr (!is_never_keyed)
        if (is_always_keyed || batches.source_.is_keyed)
          return batches.refill_from_keys(batches.bits_ + batch<Isa>);
      if constexpr (!is_always_keyed) batches.refill(start);
    }
  };
  struct make_keys_call {
    random_batches& batches;
    template <class>
    LOWP_HOST_FN void body() const {
      batch_start<Isa> start;
      random_batch<Isa>(batches.source_, batches.keys_, batches.first_key_, start,
                        batches.group_keys_);
    }
  };
  LOWP_HOST_FN void refill(batch_start<Isa>& start) {
    random_batch<Isa>(source_, keys_, index_, start, bits_ + batch<Isa>);
    index_ += batch<Isa>;
  }
  LOWP_HOST_FN void refill_from_keys(std::uint16_t* to) {
    constexpr int group = static_cast<int>(detail::group_size), all = batch<Isa>;
    constexpr int count = all < group ? all : group;
    std::uint64_t const key = random_source::index_of_key(index_);
    if (key - first_key_ >= batch<Isa>) {
      first_key_ = key - key % batch<Isa>;
      Isa::enter(make_keys_call{*this});
    }
    for (int i = 0; i < all; i += count)
      draws_of_group<Isa, count>(group_keys_ + key % batch<Isa> + i / 16,
                                 static_cast<std::uint32_t>(index_) % detail::group_size, to + i);
    index_ += batch<Isa>;
  }

  random_source source_{0, 0};
  philox_keys keys_{0, 0};
  int shift_;
  std::uint64_t index_;      // the first element not in the second half
  std::uint64_t first_key_;  // the index of the first of the groups' keys
  alignas(64) std::uint16_t group_keys_[is_never_keyed ? 1 : batch<Isa>];
  alignas(64) std::uint16_t bits_[2 * batch<Isa>];
};

}  // namespace lowp::simd
