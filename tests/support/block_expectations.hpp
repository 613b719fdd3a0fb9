// SPDX-License-Identifier: Apache-2.0
// The right result of block_cast: scales by a search in double, codes and values by the oracle.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "scales.hpp"
#include "train/update/support.hpp"

namespace lowp_test {

inline constexpr std::uint32_t nan_scale = 255;

inline std::uint32_t scale_of(oracle::facts const& f, tensor const& in, std::size_t first,
                              std::size_t last, bool floor) {
  std::uint32_t largest = 0;
  for (std::size_t i = first; i < last; ++i) largest = std::max(largest, in.value(i) & 0x7fffffffU);
  if (largest >= 0x7f800000U) return nan_scale;
  if (largest == 0) return 0;
  return static_cast<std::uint32_t>(oracle_block_exponent(f, double{float_of(largest)}, floor) +
                                    127);
}

// Elements of all magnitudes, block after block of another one, some blocks special.
template <lowp::element From>
tensor blocky(std::size_t size, std::size_t block) {
  tensor in = random_tensor<From>(size, size + 1, values::training);
  std::mt19937_64 random(size);
  for (std::size_t first = 0; first < size; first += block) {
    std::size_t const last = std::min(size, first + block);
    std::uint64_t const kind = random() % 8;
    int const exponent = static_cast<int>(random() % 280) - 149;
    for (std::size_t i = first; i < last; ++i) {
      float x = kind == 0
                    ? 0.0f
                    : std::ldexp(float_of(in.value(i)), exponent - static_cast<int>(random() % 12));
      if (kind == 1 && i == first + random() % block) x = std::numeric_limits<float>::infinity();
      if (kind == 2 && i == last - 1) x = std::nanf("");
      if (kind == 3 && !std::isfinite(x)) x = std::numeric_limits<float>::max();
      in.codes[i] = oracle::encode(in.format, oracle::from_float_bits(float_bits(x)),
                                   oracle::mode::nearest_even, oracle::policy::infinity);
    }
  }
  return in;
}

struct block_expectation {
  tensor in, codes, scales, back;
};

template <class T, lowp::element From>
block_expectation expected_blocks(std::size_t size, std::size_t block, bool floor,
                                  slot_mode const& mode) {
  tensor const in = blocky<From>(size, block);
  block_expectation want{
      in,
      {facts<T>, in.codes},
      {slot_facts<lowp::float8_e8m0fnu>(), std::vector<std::uint32_t>((size + block - 1) / block)},
      {oracle::binary32, in.codes}};
  for (std::size_t i = 0; i < size; ++i) {
    std::size_t const first = i / block * block;
    std::uint32_t& scale = want.scales.codes[i / block];
    scale = scale_of(facts<T>, in, first, std::min(size, first + block), floor);
    if (scale == nan_scale) {
      want.codes.codes[i] = canonical_nan(facts<T>);
      want.back.codes[i] = 0x7fc00000U;
      continue;
    }
    int const exponent = static_cast<int>(scale) - 127;
    store(want.codes, i, oracle::f32_mul(in.value(i), float_bits(std::ldexp(1.0f, -exponent))),
          mode, 0, policies[1]);  // saturate
    want.back.codes[i] =
        oracle::f32_mul(want.codes.value(i), float_bits(std::ldexp(1.0f, exponent)));
  }
  return want;
}

}  // namespace lowp_test
