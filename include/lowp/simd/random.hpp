// SPDX-License-Identifier: Apache-2.0
// The 16 random bits of each element, a batch at a time. Each lane computes one Philox block.
#pragma once

#include <lowp/format/random.hpp>
#include <lowp/simd/pack.hpp>

#include <cstdint>

namespace lowp::simd {

/// The number of Philox chains that run at once.
inline constexpr int chains = 4;

/// The elements of a batch: a block of eight for each 64-bit lane of each chain.
template <class Isa>
inline constexpr int batch =
    chains * Isa::lanes / 2 * static_cast<int>(random_source::elements_per_block);

/// Words of Philox blocks, one to a 64-bit lane in each chain, with room for a product. The bits
/// above the low 32 have no meaning. There are several registers, because one chain of ten rounds
/// waits for each of its multiplications.
template <class Isa>
using block_words = wide_pack<std::uint64_t, Isa, chains>;

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
    for (int i = 0; i < simd::chains; ++i) w.v[i] = typename W::vector(word.v);
    return w;
  }
  LOWP_HOST_FN static halves mul_wide(W const& a, std::uint32_t b) {
    W const factor = broadcast(b);
    halves p;
    LOWP_UNROLL
    for (int i = 0; i < simd::chains; ++i)
      Isa::mul_wide(p.low.v[i], p.high.v[i], a.v[i], factor.v[i]);
    return p;
  }
  LOWP_HOST_FN static W xor3(W const& a, W const& b, std::uint32_t const& key) {
    W w;
    if constexpr (requires { Isa::xor3(w.v[0], a.v[0], b.v[0], key); }) {
      LOWP_UNROLL
      for (int i = 0; i < simd::chains; ++i) Isa::xor3(w.v[i], a.v[i], b.v[i], key);
    } else {
      W const keys = broadcast(key);
      LOWP_UNROLL
      for (int i = 0; i < simd::chains; ++i) w.v[i] = a.v[i] ^ b.v[i] ^ keys.v[i];
    }
    return w;
  }
};
}  // namespace lowp

namespace lowp::simd {

template <class Isa>
LOWP_HOST_FN block_words<Isa> operator+(block_words<Isa> const& a, std::uint32_t b) {
  block_words<Isa> w = lane<block_words<Isa>>::broadcast(b);
  LOWP_UNROLL
  for (int i = 0; i < chains; ++i) w.v[i] = a.v[i] + w.v[i];
  return w;
}
template <class Isa>
LOWP_HOST_FN block_words<Isa> operator^(block_words<Isa> const& a, std::uint32_t b) {
  block_words<Isa> w = lane<block_words<Isa>>::broadcast(b);
  LOWP_UNROLL
  for (int i = 0; i < chains; ++i) w.v[i] = a.v[i] ^ w.v[i];
  return w;
}

/// The order of blocks in the lanes. The numbers of even lanes, followed by those of odd lanes, are
/// then in the order of the blocks.
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
  detail::philox_start<block_words<Isa>> blocks{};
  std::uint64_t seed = 0, stream = 0, index = 0;
  bool is_made = false;

  LOWP_HOST_FN void make(random_source const& source, philox_keys const& keys,
                         std::uint64_t first) {
    if (is_made && seed == source.seed && stream == source.stream && index == first) return;
    using W = block_words<Isa>;
    W order;
    __builtin_memcpy(&order.v, &order_of_blocks<Isa>, sizeof(order.v));
    blocks = source.start(order + static_cast<std::uint32_t>(source.counter(first)), keys);
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
  W w[4];
  start.make(source, keys, index);
  source.words(w, start.blocks, source.counter(index), keys);

  // A block is eight numbers of 16 bits: the low halves of its words, then the high halves.
  LOWP_UNROLL
  for (int i = 0; i < chains; ++i) {
    using V = typename W::vector;
    V const words[] = {w[0].v[i], w[1].v[i], w[2].v[i], w[3].v[i]};
    V pair[2];
    Isa::numbers(pair[0], pair[1], words);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__  // the first of four numbers is the lowest of its word
    for (V& v : pair) {
      v = v << 32 | v >> 32;
      v = (v & 0x0000ffff0000ffff) << 16 | (v >> 16 & 0x0000ffff0000ffff);
    }
#endif
    __builtin_memcpy(bits + i * 4 * Isa::lanes, &pair, sizeof(pair));
  }
}

/// Successive batches of random bits, from any element.
template <class Isa>
class random_batches {
 public:
  LOWP_HOST_FN random_batches(random_source const& source, std::uint64_t index)
      : source_(source),
        keys_(source.keys()),
        shift_(static_cast<int>(index % batch<Isa>)),
        index_(index - shift()) {
    // A call: a second copy of Philox in every kernel would take as long to compile as the kernel.
    if (shift_ != 0) Isa::enter(first_refill{*this});
  }

  /// Returns the bits of the next batch<Isa> elements. `start` is that of another operand, or new.
  LOWP_HOST_FN std::uint16_t const* next(batch_start<Isa>&& start = {}) {
    if (shift_ != 0) __builtin_memcpy(bits_, bits_ + batch<Isa>, sizeof(bits_) / 2);
    refill(start);
    return bits_ + (shift_ != 0 ? shift_ : batch<Isa>);
  }

 private:
  struct first_refill {
    random_batches& batches;
    template <class>
    LOWP_HOST_FN void body() const {
      batch_start<Isa> start;
      batches.refill(start);
    }
  };
  LOWP_HOST_FN std::uint64_t shift() const { return static_cast<std::uint64_t>(shift_); }
  LOWP_HOST_FN void refill(batch_start<Isa>& start) {
    random_batch<Isa>(source_, keys_, index_, start, bits_ + batch<Isa>);
    index_ += batch<Isa>;
  }

  random_source source_;
  philox_keys keys_;
  int shift_;
  std::uint64_t index_;  // the first element not in the second half
  alignas(64) std::uint16_t bits_[2 * batch<Isa>];
};

}  // namespace lowp::simd
