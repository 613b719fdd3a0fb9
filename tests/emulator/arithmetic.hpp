// SPDX-License-Identifier: Apache-2.0
// The element operation of each AVX512_BF16 instruction, on bits, as Intel SDM volume 2 defines it.
// It rounds to nearest even. Subnormals are zero on the way in and on the way out. MXCSR has no
// say. The code is integer code: the emulator rests neither on the instructions that it replaces
// nor on the state of the program that it interrupts.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>

namespace emulator {

constexpr std::uint32_t sign_bit = 0x80000000;
constexpr std::uint32_t infinity = 0x7f800000;
constexpr std::uint32_t quiet_bit = 0x00400000;
constexpr std::uint32_t default_nan = 0xffc00000;

constexpr bool is_nan(std::uint32_t x) { return (x & ~sign_bit) > infinity; }
constexpr bool is_infinite(std::uint32_t x) { return (x & ~sign_bit) == infinity; }
constexpr std::uint32_t subnormal_is_zero(std::uint32_t x) {
  return (x & infinity) == 0 ? x & sign_bit : x;
}

// VCVTNEPS2BF16 and VCVTNE2PS2BF16.
constexpr std::uint16_t to_bfloat16(std::uint32_t x) {
  x = subnormal_is_zero(x);
  if (is_nan(x)) return static_cast<std::uint16_t>((x | quiet_bit) >> 16);
  return static_cast<std::uint16_t>((x + 0x7fff + (x >> 16 & 1)) >> 16);
}

// m * 2^e. m is zero or has its highest bit at `top`, or below it while it is computed.
struct magnitude {
  static constexpr int top = 61;
  std::uint64_t m;
  int e;
};

constexpr magnitude normalize(std::uint64_t m, int e) {
  const int shift = m == 0 ? 0 : std::countl_zero(m) - (63 - magnitude::top);
  return {m << shift, e - shift};
}

// The bits that are shifted out leave their trace in the lowest bit.
constexpr std::uint64_t shift_right(std::uint64_t m, int distance) {
  if (distance > magnitude::top) return m != 0;
  return m >> distance | ((m & ((std::uint64_t{1} << distance) - 1)) != 0);
}

// For a float that is not infinite, NaN or subnormal.
constexpr std::uint64_t significand(std::uint32_t x) {
  return (x & ~sign_bit) == 0 ? 0 : (x & 0x007fffff) | 0x00800000;
}
constexpr int exponent(std::uint32_t x) { return static_cast<int>(x >> 23 & 0xff) - 150; }

constexpr std::uint32_t round(std::uint32_t sign, magnitude x) {
  constexpr int dropped_bits = magnitude::top - 23;
  constexpr std::uint64_t half = std::uint64_t{1} << (dropped_bits - 1);
  const std::uint64_t dropped = x.m & (2 * half - 1);
  std::uint64_t kept = x.m >> dropped_bits;
  if (dropped > half || (dropped == half && (kept & 1) != 0)) ++kept;
  int biased = x.e + magnitude::top + 127;
  if (kept >> 24 != 0) {
    kept >>= 1;
    ++biased;
  }
  if (biased >= 255) return sign | infinity;
  if (biased <= 0) return sign;  // tiny after rounding: flushed
  return sign | static_cast<std::uint32_t>(biased) << 23 |
         (static_cast<std::uint32_t>(kept) & 0x007fffff);
}

// a * b + c, rounded once; a and b are bfloat16 in the upper half of a float.
constexpr std::uint32_t multiply_add(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  for (const std::uint32_t x : {a, b, c})
    if (is_nan(x)) return x | quiet_bit;
  a = subnormal_is_zero(a);
  b = subnormal_is_zero(b);
  c = subnormal_is_zero(c);
  const std::uint32_t sign = (a ^ b) & sign_bit;
  const std::uint32_t c_sign = c & sign_bit;
  if (is_infinite(a) || is_infinite(b)) {
    const bool times_zero = (a & ~sign_bit) == 0 || (b & ~sign_bit) == 0;
    const bool minus_itself = is_infinite(c) && sign != c_sign;
    return times_zero || minus_itself ? default_nan : sign | infinity;
  }
  if (is_infinite(c)) return c;

  magnitude product = normalize(significand(a) * significand(b), exponent(a) + exponent(b));
  magnitude addend = normalize(significand(c), exponent(c));
  if (product.m == 0 && addend.m == 0) return sign & c_sign;
  if (product.m == 0) return c;
  if (addend.m == 0) return round(sign, product);
  const bool product_is_larger =
      product.e > addend.e || (product.e == addend.e && product.m >= addend.m);
  const magnitude& large = product_is_larger ? product : addend;
  const magnitude& small = product_is_larger ? addend : product;
  const std::uint32_t large_sign = product_is_larger ? sign : c_sign;
  const std::uint64_t aligned = shift_right(small.m, large.e - small.e);
  const std::uint64_t sum = sign == c_sign ? large.m + aligned : large.m - aligned;
  if (sum == 0) return 0;
  if (sum >> magnitude::top > 1) return round(large_sign, {shift_right(sum, 1), large.e + 1});
  return round(large_sign, normalize(sum, large.e));
}

// VDPBF16PS: two steps, the odd element first. The NaN of the later step wins.
constexpr std::uint32_t dot_product_add(std::uint32_t sum, std::uint32_t a, std::uint32_t b) {
  sum = multiply_add(a & 0xffff0000, b & 0xffff0000, sum);
  return multiply_add(a << 16, b << 16, sum);
}

}  // namespace emulator
