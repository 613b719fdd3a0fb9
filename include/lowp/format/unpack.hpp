// SPDX-License-Identifier: Apache-2.0
// Exact parts of double, long double and integers, so that these reach a narrow format in one
// rounding.
#pragma once

#include <lowp/format/codec.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace lowp::detail {

/// The integer types of every dialect of the compiler, `std::integral` there or not.
#if defined(__SIZEOF_INT128__)
__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;
template <class I>
concept integer = std::integral<I> || std::same_as<I, int128> || std::same_as<I, uint128>;
#else
template <class I>
concept integer = std::integral<I>;
#endif

/// A number (-1)^negative * significand * 2^(exponent - 61), with the significand's top bit at bit
/// 61. Bit 0 is also set if any non-zero bit below it was dropped.
struct unpacked {
  bool negative = false, infinite = false, nan = false;
  int exponent = -100000;  // zero's exponent: below every grid
  std::uint64_t significand = 0;
  std::uint32_t payload = 0;  // the leading 32 bits of a NaN's significand field

  static constexpr int precision = 62;
};

LOWP_FN constexpr int leading_zeros(std::uint64_t x) {
#if defined(__CUDA_ARCH__)  // no builtin there, and its intrinsic is no constant expression
  int zeros = 0;
  for (int step = 32; step > 0; step /= 2)
    if (x >> (64 - step) == 0) x <<= step, zeros += step;
  return zeros;
#else
  return __builtin_clzll(x);
#endif
}

/// Returns significand * 2^scale for any 64-bit significand.
LOWP_FN constexpr unpacked normalized(bool negative, std::uint64_t significand, int scale) {
  unpacked u{.negative = negative};
  if (significand == 0) return u;
  int const zeros = leading_zeros(significand);
  int const shift = zeros - 2;
  u.exponent = 63 - zeros + scale;
  u.significand = shift >= 0 ? significand << shift
                             : significand >> -shift |
                                   ((significand & ((std::uint64_t{1} << -shift) - 1)) != 0);
  return u;
}

LOWP_FN constexpr unpacked unpack(double x) {
  auto const b = __builtin_bit_cast(std::uint64_t, x);
  bool const negative = b >> 63;
  auto const field = static_cast<int>(b >> 52 & 0x7ff);
  std::uint64_t const significand = b & 0xfffffffffffff;
  if (field == 0x7ff)
    return {.negative = negative,
            .infinite = significand == 0,
            .nan = significand != 0,
            .payload = static_cast<std::uint32_t>(significand >> 20)};
  return normalized(negative, field ? significand | std::uint64_t{1} << 52 : significand,
                    (field ? field : 1) - 1075);
}

/// Unpacks a float's pattern. No instruction touches the value, so nothing flushes a subnormal.
LOWP_FN constexpr unpacked unpack_binary32(std::uint32_t b) {
  bool const negative = b >> 31;
  auto const field = static_cast<int>(b >> 23 & 0xff);
  std::uint32_t const significand = b & 0x7fffff;
  if (field == 0xff)
    return {.negative = negative,
            .infinite = significand == 0,
            .nan = significand != 0,
            .payload = significand << 9};
  return normalized(negative, field ? significand | 1u << 23 : significand,
                    (field ? field : 1) - 150);
}

/// The x87 format has a 64-bit significand, which can be read from storage. Every other long
/// double, and constant evaluation, needs arithmetic.
inline constexpr bool long_double_is_x87 = std::numeric_limits<long double>::digits == 64;

LOWP_HOST_FN constexpr unpacked unpack_by_arithmetic(long double x) {
  bool const nan = x != x;
  bool const negative = x < 0 || ((x == 0 || nan) &&
                                  unpack(static_cast<double>(x)).negative);  // a signed zero or NaN
  if (nan) return {.negative = negative, .nan = true, .payload = 0x80000000};
  if (negative) x = -x;
  if (x > std::numeric_limits<long double>::max()) return {.negative = negative, .infinite = true};
  if (x == 0) return {.negative = negative};
  int scale = 0;
  for (; x >= 0x1p62L; ++scale) x /= 2;
  for (; x < 0x1p61L; --scale) x *= 2;
  auto const whole = static_cast<std::uint64_t>(x);
  unpacked u = normalized(negative, whole, scale);
  u.significand |= x != static_cast<long double>(whole);
  return u;
}

LOWP_FN constexpr unpacked unpack(long double x) {
#if defined(__CUDA_ARCH__)  // long double is double there
  return unpack(static_cast<double>(x));
#else
  if constexpr (std::numeric_limits<long double>::digits == 53)
    return unpack(static_cast<double>(x));
  if (__builtin_is_constant_evaluated() || !long_double_is_x87) return unpack_by_arithmetic(x);
  struct {
    std::uint64_t significand;
    std::uint16_t sign_and_exponent;
  } b;
  __builtin_memcpy(&b, &x, 10);
  bool const negative = b.sign_and_exponent >> 15;
  int const field = b.sign_and_exponent & 0x7fff;
  std::uint64_t const below_top = b.significand << 1;
  if (field == 0x7fff)
    return {.negative = negative,
            .infinite = below_top == 0,
            .nan = below_top != 0,
            .payload = static_cast<std::uint32_t>(below_top >> 32)};
  return normalized(negative, b.significand, (field ? field : 1) - 16446);
#endif
}

template <integer I>
LOWP_FN constexpr unpacked unpack(I x) {
  bool negative = false;
  // Not std::is_signed: it knows integers of 128 bits in GNU's dialect only.
  constexpr bool is_signed = static_cast<I>(-1) < static_cast<I>(1);
  if constexpr (is_signed) negative = x < 0;  // nvcc warns of unsigned numbers below 0
  if constexpr (sizeof(I) <= 8) {
    auto const bits = static_cast<std::uint64_t>(x);
    return normalized(negative, negative ? 0 - bits : bits, 0);
  } else {
    auto bits = static_cast<uint128>(x);
    if (negative) bits = 0 - bits;
    int scale = 0;
    for (; bits >> 64 != 0; ++scale) bits = bits >> 1 | (bits & 1);
    return normalized(negative, static_cast<std::uint64_t>(bits), scale);
  }
}

/// The position of an exact magnitude between two codes of F. `lower` is the code toward zero,
/// `fraction` the 63-bit position between the two. Codes continue beyond the largest finite value.
struct position {
  std::uint64_t lower, fraction;
};

/// Returns the position of u. Beyond 63 dropped bits, only the leading bits of the fraction remain.
template <format F>
LOWP_FN constexpr position locate(unpacked const& u) {
  constexpr int width = 63, least = unpacked::precision - F.precision();
  int const above = u.exponent - F.min_exponent();
  if (above < 0 && !F.has_zero()) return {0, 0};  // nothing is smaller than code 0
  int const dropped = above < 0 ? least - above : least;
  int const far = dropped > width ? dropped - width : 0;
  std::uint64_t const sticky = u.significand != 0;
  std::uint64_t const kept = far > width ? sticky : u.significand >> far | (far > 0 ? sticky : 0);
  int const near = dropped - far < width ? dropped - far : width;
  auto const binade = static_cast<std::uint64_t>(above < 0 ? 0 : above) << F.significand_bits;
  std::uint64_t const fraction = kept << (width - near) & all<width, std::uint64_t>;
  // Without zero, code 0 is 2^min_exponent.
  return {binade + (kept >> near) - (F.has_zero() ? 0 : 1), fraction};
}

template <format F, class R>
LOWP_FN constexpr std::uint32_t encode(unpacked const& u, std::uint32_t random, R const& rounding,
                                       special_results<std::uint32_t> const& s) {
  position const p = locate<F>(u);
  std::uint64_t const increment =
      rounding.template increment<63>(p.lower & 1, u.negative, std::uint64_t{random});
  auto const magnitude = static_cast<std::uint32_t>(p.lower + ((p.fraction + increment) >> 63));
  bool const no_zero = !F.has_zero() && u.significand == 0 && !u.infinite;
  return finish<F, R>(magnitude, u.negative ? F.sign_mask() : 0, u.negative, u.infinite,
                      u.nan || no_zero,
                      F.significand_bits ? u.payload >> (32 - F.significand_bits) : 0, s)
      .code;
}

inline constexpr format binary32{8, 23, 127};

/// A rounded magnitude, or what u is instead, in binary32, which has a policy but no presets.
template <class R>
LOWP_FN constexpr std::uint32_t finish_binary32(std::uint64_t magnitude, unpacked const& u,
                                                R const& rounding, overflow policy) {
  using namespace lanes;
  std::uint32_t const infinite = binary32_infinity - (policy == overflow::saturate ? 1 : 0);
  std::uint32_t const beyond = rounding.inward(u.negative) ? binary32_infinity - 1 : infinite;
  std::uint32_t const finite = magnitude < beyond ? static_cast<std::uint32_t>(magnitude) : beyond;
  return (u.negative ? binary32_sign : 0) |
         (u.nan        ? binary32_nan | u.payload >> (32 - binary32.significand_bits)
          : u.infinite ? infinite
                       : finite);
}

/// The same to binary32.
template <class R>
LOWP_FN constexpr std::uint32_t encode_binary32(unpacked const& u, std::uint32_t random,
                                                R const& rounding, overflow policy) {
  position const p = locate<binary32>(u);
  std::uint64_t const increment =
      rounding.template increment<63>(p.lower & 1, u.negative, std::uint64_t{random});
  return finish_binary32(p.lower + ((p.fraction + increment) >> 63), u, rounding, policy);
}

}  // namespace lowp::detail
