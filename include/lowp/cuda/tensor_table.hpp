// SPDX-License-Identifier: Apache-2.0
// The tensors that a kernel gets, in tiles for its blocks of threads.
#pragma once

#include <lowp/cuda/blocks.hpp>
#include <lowp/cuda/tuning.hpp>

#include <cstddef>
#include <cstdint>

namespace lowp::cuda {

/// A list of tensors. Their tiles have successive numbers, one tensor after another.
template <int Slots, int Capacity>
struct tensor_table {
  struct tensor {
    void* data[std::size_t{Slots}];
    std::uint64_t count, first_tile;
    std::uint32_t number;
  };
  tensor at[std::size_t{Capacity}];
  std::uint32_t size;
  std::uint64_t tiles;

  LOWP_FN std::uint32_t find(std::uint64_t tile) const {
    if constexpr (Capacity == 1) return 0;
    std::uint32_t low = 0, high = size;  // at[low].first_tile <= tile < at[high].first_tile
    while (high - low > 1) {
      std::uint32_t const middle = (low + high) / 2;
      if (at[middle].first_tile <= tile)
        low = middle;
      else
        high = middle;
    }
    return low;
  }
};

template <class... KernelOperand>
inline constexpr int chunks_per_thread =
    tuning::chunks(chunk_size * (0 + ... + KernelOperand::bytes_read));

/// Returns the chunks of a tile. A block's threads take them in turns if an operand has larger
/// squares of elements.
template <class... KernelOperand>
LOWP_FN constexpr std::uint64_t chunks_of_tile(unsigned threads) {
  std::uint64_t chunks = std::uint64_t{threads} * chunks_per_thread<KernelOperand...>;
  ((chunks = chunks < chunks_of_square<KernelOperand> ? chunks_of_square<KernelOperand> : chunks),
   ...);
  return chunks;
}

}  // namespace lowp::cuda
