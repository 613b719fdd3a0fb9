// SPDX-License-Identifier: Apache-2.0
// Every one of the 2^32 float patterns at the price of a few per code. Rounding is a step function
// of the magnitude: its steps lie only at the values of codes and at one place between them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "codec.hpp"

namespace oracle {

inline constexpr std::uint32_t float_infinity_bits = 0x7f800000U;

// First float pattern, of those that are not negative, at or above x, and first one above x.
constexpr std::uint32_t first_at_or_above(number const& x) {
  return encode(binary32, x, mode::upward, policy::infinity);
}
constexpr std::uint32_t first_above(number const& x) {
  std::uint32_t const below = encode(binary32, x, mode::downward, policy::infinity);
  return std::min(below + 1, float_infinity_bits);
}

// Starts of runs of equal results, for one sign, in ascending order and starting with 0.
inline std::vector<std::uint32_t> segment_starts(facts const& f, mode m, std::uint32_t r) {
  // The place between neighbours at which the result can change, in 1/2^17 of their gap: half way,
  // or at the first fraction whose random bits reach the neighbour away from zero.
  std::uint32_t const between = m == mode::stochastic ? 2 * (65536 - r) - 1 : 65536;
  std::vector<std::uint32_t> starts{0, 1, float_infinity_bits, float_infinity_bits + 1};
  auto const add = [&](number const& x) {
    starts.push_back(first_at_or_above(x));
    starts.push_back(first_above(x));
  };
  for (std::uint64_t code = 0; code <= f.max_code() + 1; ++code) {
    number const x = magnitude_value(f, code);
    add(x);
    // Zero has no exponent of its own; its gap is the one of the smallest subnormal.
    int const grid = x.what == kind::zero ? f.min_exponent() - f.significand_bits : x.exponent;
    add(make_finite(false, (x.significand << 17) + between, grid - 17));
  }
  // A NaN result depends on the leading payload bits alone.
  if (f.nans == nan_rule::ieee) {
    for (std::uint32_t top = 1; top < 1U << f.significand_bits; ++top) {
      starts.push_back(float_infinity_bits + (top << (23 - f.significand_bits)));
    }
  }
  std::sort(starts.begin(), starts.end());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  return starts;
}

// Calls fn(first_bits, last_bits, code), ends included, over ranges that partition all float
// patterns in ascending order. Each range is mapped to one code. `r` matters to `stochastic` only.
template <class Fn>
void for_each_segment(facts const& f, mode m, policy p, Fn&& fn, std::uint32_t r = 0) {
  std::vector<std::uint32_t> const starts = segment_starts(f, m, r);
  for (std::uint32_t const sign : {0U, 0x80000000U}) {
    auto const code_at = [&](std::size_t i) {
      return encode(f, from_float_bits(sign | starts[i]), m, p, r);
    };
    std::size_t first = 0;
    std::uint32_t code = code_at(0);
    for (std::size_t i = 1; i < starts.size(); ++i) {
      std::uint32_t const next = code_at(i);
      if (next == code) continue;
      fn(sign | starts[first], sign | (starts[i] - 1), code);
      first = i;
      code = next;
    }
    fn(sign | starts[first], sign | 0x7fffffffU, code);
  }
}

}  // namespace oracle
