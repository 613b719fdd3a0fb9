// SPDX-License-Identifier: Apache-2.0
// Philox4x32 as Salmon, Moraes, Dror and Shaw describe it ("Parallel random numbers: as easy as
// 1, 2, 3", SC11). An element takes 16 of its random bits (A7), or a block keys 128 elements (A7b).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace oracle {

using philox_counter = std::array<std::uint32_t, 4>;
using philox_key = std::array<std::uint32_t, 2>;

constexpr philox_counter philox4x32(philox_counter x, philox_key key) {
  for (int round = 0; round < 10; ++round) {
    std::uint64_t const left = std::uint64_t{0xD2511F53} * x[0];
    std::uint64_t const right = std::uint64_t{0xCD9E8D57} * x[2];
    x = {static_cast<std::uint32_t>(right >> 32) ^ x[1] ^ key[0], static_cast<std::uint32_t>(right),
         static_cast<std::uint32_t>(left >> 32) ^ x[3] ^ key[1], static_cast<std::uint32_t>(left)};
    key[0] += 0x9E3779B9U;  // the golden ratio
    key[1] += 0xBB67AE85U;  // the square root of 3, less one
  }
  return x;
}

enum class generator : std::uint8_t { philox, keyed };

// A7b. The eight words of 16 bits of a block, and the place of an element among its 128.
constexpr std::uint32_t keyed16(philox_counter const& block, unsigned place) {
  unsigned k[8] = {};
  for (unsigned j = 0; j < 4; ++j) {
    k[2 * j] = block[j] % 65536;
    k[2 * j + 1] = block[j] / 65536;
  }
  unsigned h = k[7];
  for (unsigned j = 0; j < 7; ++j)
    if ((place >> j) % 2 == 1) h ^= k[j];
  unsigned x = h * (place * 0x9E37U | 1U) % 65536;
  x ^= x >> 7;
  x = x * 0xDB2DU % 65536;
  return x ^ (x >> 8);
}

// `index` is the element's global index, offset included. `draw` is 0 for the parameter, 1 and 2
// for the first and second moment.
constexpr std::uint32_t random16(std::uint64_t seed, std::uint64_t stream, std::uint64_t index,
                                 unsigned draw, generator by = generator::philox) {
  auto const low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  auto const high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  std::uint64_t const size = by == generator::keyed ? 128 : 8;
  std::uint64_t const block = index / size | std::uint64_t{draw} << 61;
  philox_counter const word =
      philox4x32({low(block), high(block), low(stream), high(stream)}, {low(seed), high(seed)});
  std::uint64_t const e = index % size;
  if (by == generator::keyed) return keyed16(word, static_cast<unsigned>(e));
  return (word[static_cast<std::size_t>(e % 4)] >> (e < 4 ? 0 : 16)) & 0xffffU;
}

constexpr std::uint64_t stream_of(std::uint32_t tensor, std::uint64_t step) {
  return std::uint64_t{tensor} << 32 | (step & 0xffffffffU);
}

}  // namespace oracle
