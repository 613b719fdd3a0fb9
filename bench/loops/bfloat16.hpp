// SPDX-License-Identifier: Apache-2.0
// bfloat16 as one writes it without a library.
#pragma once

#include <bit>
#include <cstdint>

namespace bench {

/// Rounds by adding what makes the discarded half carry.
inline std::uint16_t to_bfloat16(float x, std::uint32_t added) {
  auto const bits = std::bit_cast<std::uint32_t>(x);
  auto const quiet_nan = bits >> 16 | 0x40;
  auto const is_nan = (bits & 0x7fffffff) > 0x7f800000;
  return static_cast<std::uint16_t>(is_nan ? quiet_nan : (bits + added) >> 16);
}

inline std::uint16_t to_nearest_bfloat16(float x) {
  return to_bfloat16(x, 0x7fff + (std::bit_cast<std::uint32_t>(x) >> 16 & 1));
}

inline float from_bfloat16(std::uint16_t code) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(code) << 16);
}

}  // namespace bench
