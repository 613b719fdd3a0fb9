// SPDX-License-Identifier: Apache-2.0
// Random numbers without a generator: each is a function of (seed, stream, index). So a checkpoint
// has nothing to save, and no order of use to keep.
#pragma once

#include <cstdint>
#include <lowp/format/random.hpp>

/// The high half of a stream. Rounding takes the numbers of the tensors, 0, 1, 2, ...
enum class purpose : std::uint32_t { initial_weights = 0x80000000, data = 0x80000001 };

inline std::uint32_t random_word(std::uint64_t seed, purpose what, std::uint32_t which,
                                 std::uint64_t index) {
  return lowp::philox4x32(
      {static_cast<std::uint32_t>(index / 4), static_cast<std::uint32_t>(index / 4 >> 32), which,
       static_cast<std::uint32_t>(what)},
      {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)})[index % 4];
}
