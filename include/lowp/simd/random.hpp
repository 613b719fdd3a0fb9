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

/// Bits of the elements from `index`, a multiple of the batch.
template <class Isa>
LOWP_HOST_FN void random_batch(random_source const& source, std::uint64_t index,
                               std::uint16_t* bits) {
  using U = word<Isa>;
  std::uint64_t const counter = source.counter(index);
  U words[4];
  source.words(words, lane_numbers<Isa>() + static_cast<std::uint32_t>(counter), counter);
  for (int block = 0; block < Isa::lanes; ++block)
    for (int w = 0; w < 4; ++w) {
      std::uint32_t const random = words[w].v[block];
      bits[8 * block + w] = static_cast<std::uint16_t>(random);
      bits[8 * block + w + 4] = static_cast<std::uint16_t>(random >> 16);
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
