// SPDX-License-Identifier: Apache-2.0
// The inputs of the recorded quantizations, as tests/peers/quantization/inputs.py makes them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace quantization_inputs {

inline constexpr std::uint64_t blocks = 8;  // of a tensor
inline constexpr std::uint32_t largest_finite = 0x7F7FFFFF, infinity = 0x7F800000,
                               quiet = 0x7FC00000;

constexpr std::uint64_t mix(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

constexpr std::uint64_t draw(std::uint64_t tensor, std::uint64_t block, std::uint64_t element,
                             std::uint64_t use) {
  return mix((tensor << 40) | (block << 24) | (element << 8) | use);
}

constexpr int width(std::uint64_t x) { return static_cast<int>(std::bit_width(x)); }

/// Returns the bits of the float nearest to significand * 2^exponent, at most FLT_MAX.
constexpr std::uint32_t nearest(std::uint64_t significand, int exponent) {
  if (significand == 0) return 0;
  int const drop = std::max(width(significand) - 24, -149 - exponent);
  if (drop > 64) return 0;
  if (drop == 64) {
    significand = significand > std::uint64_t{1} << 63;
  } else if (drop > 0) {
    std::uint64_t const half = std::uint64_t{1} << (drop - 1);
    std::uint64_t const rest = significand & (half + (half - 1));
    significand >>= drop;
    significand += rest > half || (rest == half && (significand & 1));
  } else {
    significand <<= -drop;
  }
  exponent += drop;
  if (significand == std::uint64_t{1} << 24) {
    significand >>= 1;
    ++exponent;
  }
  if (significand < std::uint64_t{1} << 23) return static_cast<std::uint32_t>(significand);
  if (exponent > 104) return largest_finite;
  return static_cast<std::uint32_t>(exponent + 149) * (std::uint32_t{1} << 23) +
         static_cast<std::uint32_t>(significand);
}

/// Returns the significand and the exponent of a positive float.
constexpr std::pair<std::uint64_t, int> parts(std::uint32_t bits) {
  int const biased = static_cast<int>(bits >> 23);
  if (biased == 0) return {bits, -149};
  return {(bits & 0x7FFFFF) | 0x800000, biased - 150};
}

/// Returns the float nearest to significand / divisor * 2^exponent.
constexpr std::uint32_t quotient(std::uint64_t significand, std::uint64_t divisor, int exponent) {
  std::uint64_t const whole = significand << 28;
  return nearest((whole / divisor) | (whole % divisor != 0), exponent - 28);
}

constexpr std::uint32_t moved(std::uint32_t bits, int by) {
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(std::int64_t{bits} + by, 0, largest_finite));
}

/// Returns the bits of the largest finite magnitude of a tensor.
constexpr std::uint32_t largest(std::uint64_t tensor) {
  std::uint64_t const d = draw(tensor, 0, 0, 0), sig = (d >> 32) & 0x7FFFFF, full = 0x800000 | sig;
  int const k = static_cast<int>(d & 31) - 16;
  switch (tensor % 16) {
    case 0:
      return nearest(2688, 0);
    case 1:
    case 14:
    case 15:
      return nearest(2688, k);
    case 3:
      return nearest(1, k);
    case 4:
      return moved(nearest(2688, k), d & 256 ? 1 : -1);
    case 5:
      return nearest((sig >> 16) | 0x80, k);
    case 6:
      return nearest(full, static_cast<int>(d % 5) - 9);
    case 7:
      return nearest(full, static_cast<int>(d % 20) - 149);
    case 8:
      return static_cast<std::uint32_t>(std::max<std::uint64_t>(sig >> (d % 12), 1));
    case 9:
      return largest_finite;
    case 10:
      return nearest(full, 104 - static_cast<int>(d % 24));
    case 11:
      return 0;
    case 13:
      return nearest(1536, k);
    default:
      return nearest(full, k - 24);  // 2 and 12
  }
}

/// Returns the bits of the magnitude of element i, before it is cut to that of the tensor.
constexpr std::uint32_t magnitude(std::uint64_t tensor, std::uint64_t block, std::uint64_t i,
                                  std::uint64_t size, std::uint32_t top) {
  constexpr std::uint64_t midpoints[] = {1, 3, 5, 7, 10, 14, 20};  // of e2m1, times 4
  constexpr std::uint64_t thresholds[] = {16, 20, 24, 28, 30, 31};
  std::uint64_t const of = draw(tensor, block, 0xFFFF, 0), d = draw(tensor, block, i, 1);
  std::uint64_t const kind = of & 7, part = (of >> 24) & 7;
  int at = static_cast<int>((of >> 16) % 17);
  bool const peak = i == (of >> 8) % size;
  int const ulps = std::array{0, 0, 1, -1}[(d >> 8) & 3];
  int const peak_ulps = std::array{0, 0, 1, -1, 2, -2, 1, -1}[(of >> 32) & 7];
  auto const [m, e] = parts(top);
  int const binade = e + width(m) - 1;
  auto const of_d = [d](std::uint64_t divisor) { return static_cast<int>(d % divisor); };
  std::uint64_t const full = 0x800000 | ((d >> 40) & 0x7FFFFF);
  if ((kind == 7 && (of & 64)) || (((d >> 16) & 15) == 0 && !peak)) return 0;
  if (kind == 0) return nearest(full, binade - 23 - at % 8 - (peak ? 0 : of_d(6)));
  if (kind <= 3) {  // scales of A * s / 448, in 3 of A * s / 256
    bool const middle = kind == 1 || ((of >> 27) & 1);
    std::uint64_t const divisor = kind == 3 ? 3 : 21;
    std::uint64_t s = at < 15 ? 8 + part : std::max<std::uint64_t>(part, 1);
    int const scale = e + (at < 15 ? 5 - at : -9) - (kind == 3 ? 11 : 9);
    if (peak && middle) return moved(quotient(m * (2 * s + 1) * 24, divisor, scale - 1), peak_ulps);
    if (peak) return moved(quotient(m * s * 24, divisor, scale), peak_ulps);
    s += middle ? (d >> 12) & 1 : 0;
    return moved(quotient(m * s * midpoints[(d >> 24) % 7], divisor, scale), ulps);
  }
  if (kind == 4 || kind == 7) {  // scales that are powers of two
    std::uint32_t const limit = moved(nearest(thresholds[part % 6], binade - at - 5), peak_ulps);
    int const bits = 1 + static_cast<int>((d >> 24) % 6);
    std::uint64_t const few =
        (std::uint64_t{1} << bits) | ((d >> 40) & ((std::uint64_t{1} << bits) - 1));
    int const down = 1 + bits + static_cast<int>((d >> 32) % 7);
    return peak ? limit : std::min(limit, moved(nearest(few, binade - at - down), ulps));
  }
  if (kind == 5) return nearest(1, binade - (peak ? at % 4 : of_d(40)));
  if (of & 64) return static_cast<std::uint32_t>((full & 0x7FFFFF) >> (d % 23));
  return nearest(full, binade - 23 - 14 - at - of_d(4));
}

/// Returns the bits of the floats of a tensor, which has `blocks` blocks of `size`.
inline std::vector<std::uint32_t> words(std::uint64_t tensor, std::uint64_t size) {
  std::uint32_t const top = largest(tensor);
  std::uint64_t const row = tensor / 16;
  std::vector<std::uint32_t> result;
  for (std::uint64_t block = 0; block < blocks; ++block) {
    for (std::uint64_t i = 0; i < size; ++i) {
      std::uint32_t bits = std::min(magnitude(tensor, block, i, size, top), top);
      if (i == 0 && block == row % blocks) bits = top;
      if (block == 3 && i == row % size && tensor % 16 == 14) bits = infinity;
      if (block == 3 && i == row % size && tensor % 16 == 15) bits = quiet;
      std::uint64_t const sign = draw(tensor, block, i, 1) >> 63;
      result.push_back(bits | static_cast<std::uint32_t>(sign << 31));
    }
  }
  return result;
}

/// Returns a number that tells whether words are the same: README.md has the one of a file.
inline std::uint64_t checksum(std::vector<std::uint32_t> const& words) {
  std::uint64_t result = 0;
  for (std::uint32_t const word : words) result = mix(result ^ word);
  return result;
}

}  // namespace quantization_inputs
