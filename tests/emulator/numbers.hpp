// SPDX-License-Identifier: Apache-2.0
// Operands for the tests of the emulator.
#pragma once

#include <array>
#include <cstdint>
#include <random>

#include "arithmetic.hpp"

namespace emulator {

// Floats and pairs of bfloat16 that meet the corners more often than uniform ones would.
class numbers {
 public:
  explicit numbers(std::uint64_t seed) : engine_(seed) {}
  std::uint32_t next_float() {
    const std::uint64_t random = engine_();
    const auto bits = static_cast<std::uint32_t>(random);
    switch (random >> 60) {
      case 0:
        return corners[random >> 32 & 15] | (bits & sign_bit);
      case 1:  // on both sides of the smallest normal number
        return (bits & (sign_bit | 0x01ffffff));
      case 2:  // near one, so that sums cancel
      case 3:
        return (bits & 0x83ffffff) + 0x3d000000;
      case 4:  // near the largest, and NaN
        return bits | 0x7e000000;
      case 5:  // a tie to bfloat16
        return (bits & 0xffff0000) | 0x8000;
      default:
        return bits;
    }
  }
  std::uint32_t next_pair() {
    const std::uint32_t odd = next_float();
    return (odd & 0xffff0000) | next_float() >> 16;
  }

 private:
  static constexpr std::array<std::uint32_t, 16> corners{
      0x00000000, 0x00000001, 0x007fffff, 0x00800000, 0x00800001, 0x00ffffff,
      0x3f7fffff, 0x3f800000, 0x3f808000, 0x3f818000, 0x7f7f7fff, 0x7f7f8000,
      0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc12345};
  std::mt19937_64 engine_;
};

}  // namespace emulator
