// SPDX-License-Identifier: Apache-2.0
// The 16 random bits of each element, a batch at a time: each lane computes one Philox block.
#pragma once

#include <lowp/random.hpp>
#include <lowp/simd/pack.hpp>

#include <cstdint>

namespace lowp::simd {

/// Elements per batch: a block of eight for every lane.
template <class Isa>
inline constexpr int batch = Isa::lanes* static_cast<int>(random_source::elements_per_block);

/// Words of Philox, one to a 64-bit lane, where a multiplication has room for its product: what is
/// above the low 32 bits is of no meaning.
template <class Isa>
struct block_words {
  static constexpr int blocks = Isa::lanes / 2;
  typedef std::uint64_t vector __attribute__((vector_size(8 * blocks)));

  vector v;

  block_words() = default;
  LOWP_HOST_FN block_words(block_words const& w) : v(w.v) {}
  LOWP_HOST_FN block_words& operator=(block_words const& w) {
    v = w.v;
    return *this;
  }
  LOWP_HOST_FN static block_words of(vector const& v) {
    block_words w;
    w.v = v;
    return w;
  }
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
  LOWP_HOST_FN static W spread(std::uint32_t x) {
    W w;
    Isa::spread(w.v, std::uint64_t{x});
    return w;
  }
  LOWP_HOST_FN static halves product(W const& a, std::uint32_t b) {
    W whole;
    Isa::product(whole.v, a.v, spread(b).v);
    return {W::of(whole.v >> 32), whole};
  }
};
}  // namespace lowp

namespace lowp::simd {

template <class Isa>
LOWP_HOST_FN block_words<Isa> operator^(block_words<Isa> const& a, block_words<Isa> const& b) {
  return block_words<Isa>::of(a.v ^ b.v);
}
template <class Isa>
LOWP_HOST_FN block_words<Isa> operator^(block_words<Isa> const& a, std::uint32_t b) {
  return a ^ lane<block_words<Isa>>::spread(b);
}

/// Bits of the elements from `index`, a multiple of the batch.
template <class Isa>
LOWP_HOST_FN void random_batch(random_source const& source, std::uint64_t index,
                               std::uint16_t* bits) {
  using W = block_words<Isa>;
  constexpr int n = W::blocks;
  std::uint64_t const counter = source.counter(index);
  for (int half = 0; half < 2; ++half) {
    // Interleaving even with odd lanes, below, puts these blocks in order.
    std::uint64_t numbers[n];
    for (int i = 0; i < n; ++i)
      numbers[i] = static_cast<std::uint64_t>(half * n + i % 2 * (n / 2) + i / 2);
    W words[4];
    __builtin_memcpy(&words[0].v, numbers, sizeof(numbers));
    words[0].v += lane<W>::spread(static_cast<std::uint32_t>(counter)).v;
    source.words(words, words[0], counter);

    auto const low = 0xffff;
    typename W::vector const a = words[0].v, b = words[1].v, c = words[2].v, d = words[3].v;
    // A block is eight numbers of 16 bits: the low halves of its words, then the high halves.
    typename W::vector const lows = (a & low) | (b & low) << 16 | (c & low) << 32 | d << 48;
    typename W::vector const highs =
        (a >> 16 & low) | (b & 0xffff0000) | (c & 0xffff0000) << 16 | (d & 0xffff0000) << 32;
    typename W::vector first, second;
    Isa::interleave(first, second, lows, highs);
    __builtin_memcpy(bits, &first, sizeof(first));
    __builtin_memcpy(bits + 4 * n, &second, sizeof(second));
    bits += 8 * n;
  }
}

/// Successive batches of random bits from any element on.
template <class Isa>
class random_batches {
 public:
  LOWP_HOST_FN random_batches(random_source const& source, std::uint64_t index)
      : source_(source), shift_(static_cast<int>(index % batch<Isa>)), index_(index - shift()) {
    if (shift_ != 0) refill();
  }

  /// Bits of the next batch<Isa> elements.
  LOWP_HOST_FN std::uint16_t const* next() {
    if (shift_ != 0) __builtin_memcpy(bits_, bits_ + batch<Isa>, sizeof(bits_) / 2);
    refill();
    return bits_ + (shift_ != 0 ? shift_ : batch<Isa>);
  }

 private:
  LOWP_HOST_FN std::uint64_t shift() const { return static_cast<std::uint64_t>(shift_); }
  LOWP_HOST_FN void refill() {
    random_batch<Isa>(source_, index_, bits_ + batch<Isa>);
    index_ += batch<Isa>;
  }

  random_source source_;
  int shift_;
  std::uint64_t index_;  // of the first element not in the second half
  alignas(64) std::uint16_t bits_[2 * batch<Isa>];
};

}  // namespace lowp::simd
