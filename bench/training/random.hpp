// SPDX-License-Identifier: Apache-2.0
// Random numbers without a generator: each is a function of (seed, purpose, which, index).
#pragma once

#include <lowp/format/random.hpp>

#include <cstddef>
#include <cstdint>

namespace training {

/// The high half of a stream. Rounding takes the numbers of the tensors, 0, 1, 2, ...
enum class purpose : std::uint32_t { initial_weights = 0x80000000, data = 0x80000001 };

inline std::uint32_t random_word(std::uint64_t seed, purpose what, std::uint32_t which,
                                 std::uint64_t index) {
  return lowp::philox4x32(
      {static_cast<std::uint32_t>(index / 4), static_cast<std::uint32_t>(index / 4 >> 32), which,
       static_cast<std::uint32_t>(what)},
      {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)})[index % 4];
}

/// The `index`-th draw of a training step among `count` possibilities.
inline std::size_t random_below(std::size_t count, std::uint64_t seed, std::uint64_t step,
                                std::uint64_t index) {
  std::uint64_t const word =
      random_word(seed, purpose::data, static_cast<std::uint32_t>(step), index);
  return static_cast<std::size_t>(word * count >> 32);
}

}  // namespace training
