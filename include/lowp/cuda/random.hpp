// SPDX-License-Identifier: Apache-2.0
// The 16 random bits of each element of a chunk.
#pragma once

#include <lowp/cuda/chunk.hpp>
#include <lowp/format/random.hpp>

namespace lowp::cuda {

/// The bits of eight elements at any index: from one Philox block, or from two.
class chunk_bits {
 public:
  chunk_bits() = default;
  LOWP_FN chunk_bits(random_source const& source, std::uint64_t index, philox_keys const& keys) {
    block(word_, source, index, keys);
    int const shift = static_cast<int>(index % chunk_size);
    if (shift == 0) return;

    // A word holds elements k and k + 4, low half first. Twelve words in sequence hold any eight
    // successive elements of two blocks as four successive words.
    std::uint32_t pass[12], next[4] = {};
    block(next, source, index + chunk_size, keys);
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < 4; ++k) {
      pass[k] = word_[k];
      pass[k + 4] = word_[k] >> 16 | next[k] << 16;
      pass[k + 8] = next[k];
    }
    skip<4>(pass, shift);
    skip<2>(pass, shift);
    skip<1>(pass, shift);
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < 4; ++k) word_[k] = pass[k];
  }

  LOWP_FN std::uint32_t operator()(int k) const {
    return k < 4 ? word_[k] & 0xffff : word_[k - 4] >> 16;
  }

 private:
  // A variable cannot index registers, so each bit of the shift decides one of three moves.
  template <int Step>
  LOWP_FN static void skip(std::uint32_t (&pass)[12], int shift) {
    bool const moves = (shift & Step) != 0;
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < 12 - Step; ++k) pass[k] = moves ? pass[k + Step] : pass[k];
  }
  LOWP_FN static void block(std::uint32_t (&word)[4], random_source const& source,
                            std::uint64_t index, philox_keys const& keys) {
    source.block(word, index, keys);
    if (!source.is_keyed) return;
    std::uint32_t const key[] = {word[0], word[1], word[2], word[3]};
    auto const place =
        static_cast<std::uint32_t>(index) % detail::group_size / chunk_size * chunk_size;
    LOWP_UNROLL_ON_GPU
    for (std::uint32_t k = 0; k < 4; ++k)
      word[k] = detail::draws_of_products(detail::keyed_product(key, place | k),
                                          detail::keyed_product(key, place | (k + 4)));
  }

  std::uint32_t word_[4] = {};
};

}  // namespace lowp::cuda
