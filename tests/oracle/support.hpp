// SPDX-License-Identifier: Apache-2.0
// Shared by the oracle's own tests.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>

#include "codec.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace oracle_test {

using namespace oracle;

inline constexpr std::array modes{mode::nearest_even, mode::nearest_away, mode::toward_zero,
                                  mode::upward,       mode::downward,     mode::to_odd,
                                  mode::stochastic};
inline constexpr std::array policies{policy::infinity, policy::saturate};

inline double to_double(number const& x) {
  return std::bit_cast<double>(encode_wide(binary64, x, mode::nearest_even, policy::infinity));
}

inline std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }
inline float value(std::uint32_t x) { return std::bit_cast<float>(x); }

// The processor's result, with every NaN made the canonical one.
inline std::uint32_t said(float x) { return std::isnan(x) ? 0x7fc00000U : bits(x); }

// Float patterns that reach the corners more often than uniform ones would: short significands
// (ties), neighbouring exponents (cancellation), subnormals and special values.
class float_patterns {
 public:
  explicit float_patterns(std::uint64_t seed) : engine_(seed) {}

  std::uint32_t next() {
    std::uint64_t const random = engine_();
    auto const low = static_cast<std::uint32_t>(random);
    auto const choice = static_cast<unsigned>(random >> 60);
    auto const extra = static_cast<std::uint32_t>(random >> 32);
    if (choice == 0) return special[extra % special.size()] ^ (low & 0x80000000U);
    if (choice < 3) return low & 0x807fffffU;                                           // subnormal
    if (choice < 7) return (low & 0x80ffffffU) | (0x3c000000U + (extra & 0x3000000U));  // near 1
    if (choice < 10) return low & (0xffffffffU << (extra % 24));                        // short
    return low;
  }

 private:
  static constexpr std::array<std::uint32_t, 14> special{
      0,          1,          0x007fffff, 0x00800000, 0x33800000, 0x34000000, 0x3f7fffff,
      0x3f800000, 0x3f800001, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc00000, 0x7fffffff};
  std::mt19937_64 engine_;
};

#if defined(__x86_64__)
inline bool
has_f16c() {  // clang 14 has no name for it; AVX stands for the system's saving the registers
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __builtin_cpu_supports("avx") && __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C);
}
#endif

}  // namespace oracle_test
