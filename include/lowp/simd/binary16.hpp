// SPDX-License-Identifier: Apache-2.0
// Decoding by way of binary16, for a backend that has an instruction for it:
//
//     float8_e4m3fn       s eeee mmm
//     binary16        s 0 eeee mmm 0000000      the number times 2^-8, its subnormals too
//
// The formats whose codes a shift makes binary16 numbers, times a power of two, are those that fit.
#pragma once

#include <lowp/format/basic_float.hpp>
#include <lowp/simd/pack.hpp>

namespace lowp::simd {

/// The exponent of what a binary16 number made of a code lacks.
template <format F>
inline constexpr int exponent_of_halves = 15 - F.bias;

/// Says that F's codes fit. If F's exponents are as wide as binary16's, so are its specials.
template <format F>
inline constexpr bool fits_binary16 =
    F.bits() <= 8 && F.has_sign && F.has_zero() &&
    F.exponent_bits <= (F.special_values == specials::ieee ? 5 : 4) && exponent_of_halves<F> <= 127;

/// Numbers of 16 bits, with signs for shifts.
template <class Isa, std::size_t Packs>
using halves_of = typename vector_of<std::int16_t, int{Packs} * Isa::lanes>::type;

/// Turns codes, with their signs spread over 16 bits, into binary16 numbers.
template <format F, class V>
LOWP_HOST_FN void make_halves(V& codes) {
  constexpr int up = 10 - F.significand_bits;
  constexpr auto sign = static_cast<std::int16_t>(-0x8000);
  constexpr auto nan = static_cast<std::int16_t>(0x7e00),
                 exponent = static_cast<std::int16_t>(0x7c00);
  constexpr auto magnitudes = static_cast<std::int16_t>(F.magnitude_mask() << up);
  V h = codes << up;
  if constexpr (F.bits() < 8)
    h = (codes << (16 - F.bits()) & sign) | (h & magnitudes);
  else if constexpr (F.exponent_bits < 5)
    h = h & static_cast<std::int16_t>(sign | magnitudes);
  if constexpr (F.special_values == specials::nan_all_ones)
    h ^= ((h & magnitudes) == magnitudes) & static_cast<std::int16_t>(magnitudes ^ nan);
  else if constexpr (F.has_one_nan())
    h ^= (h == sign) & static_cast<std::int16_t>(sign ^ nan);
  else if constexpr (F.has_infinity() && F.exponent_bits < 5)
    h |= ((h & magnitudes) > static_cast<std::int16_t>(F.max_code() << up)) & exponent;
  if constexpr (F.special_values == specials::p3109_extended)
    h ^= ((h & magnitudes) == magnitudes) & static_cast<std::int16_t>(magnitudes ^ exponent);
  codes = h;
}

/// True if Isa decodes this number of packs of T at once by way of binary16.
template <class Isa, class T, std::size_t Packs = 1>
inline constexpr bool has_halves =
    requires(halves_of<Isa, Packs> halves, pack<float, Isa> (&x)[Packs]) {
      requires narrow<T> && fits_binary16<T::descriptor>;
      Isa::decode_halves(x, halves);
    };

template <format F, class Isa, std::size_t Packs>
LOWP_HOST_FN void decode_by_halves(pack<float, Isa> (&x)[Packs], void const* from) {
  halves_of<Isa, Packs> halves;
  Isa::widen_bytes(halves, from);
  make_halves<F>(halves);
  Isa::decode_halves(x, halves);
  if constexpr (exponent_of_halves<F> != 0) {
    constexpr auto scale = static_cast<std::uint32_t>(127 + exponent_of_halves<F>) << 23;
    LOWP_UNROLL
    for (std::size_t i = 0; i < Packs; ++i)
      x[i] = lanes::mul(x[i], lanes::broadcast<pack<float, Isa>>(lanes::from_bits<float>(scale)));
  }
}

}  // namespace lowp::simd
