// SPDX-License-Identifier: Apache-2.0
// Packed codes of a batch, to and from bytes that each hold one code. And decoding by way of
// binary16, for a backend that has an instruction for it:
//
//     float8_e4m3fn       s eeee mmm
//     binary16        s 0 eeee mmm 0000000      the number times 2^-8, its subnormals too
//
// The formats whose codes a shift makes binary16 numbers, times a power of two, are those that fit.
#pragma once

#include <lowp/format/basic_float.hpp>
#include <lowp/simd/operand.hpp>
#include <lowp/simd/pairs.hpp>
#include <lowp/simd/random.hpp>

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

inline constexpr bool is_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

/// Stores packs of codes of four bits, in pair_order.
template <class Isa, std::size_t Packs>
LOWP_HOST_FN void store_nibbles(std::uint8_t* to, word<Isa> const (&codes)[Packs]) {
  if constexpr (requires { Isa::store_nibbles(to, codes); }) return Isa::store_nibbles(to, codes);
  numbers<Isa> halves;
  Isa::join(halves, codes[0], codes[1]);
  word<Isa> const x = word_of_elements<word<Isa>>(&halves);
  ((is_little ? x | x >> 12 : x >> 16 | x << 4) & 0xff).store(to);
}

/// Packs and unpacks the codes of an operand, up to Count at once. Batches share no byte. There is
/// room for `room` codes, because registers may hold more than Count.
template <class Isa, class Operand, int Count = batch<Isa>>
struct packed_codes {
  using byte = std::uint8_t;
  static constexpr int bits = Operand::type::descriptor.bits();
  static constexpr bool is_split = std::is_same_v<typename Operand::order, split_order>;
  static_assert(Count % (is_split ? 32 : 16) == 0);
  static constexpr int step = 2 * Isa::lanes < 16 ? 16 : 2 * Isa::lanes;
  static constexpr std::size_t room = (Count + step - 1) / step * step;

  /// Writes `room` bytes: `valid` codes, then zeros.
  LOWP_HOST_FN static void unpack(byte* codes, byte const* from, std::size_t valid) {
    byte part[room / 8 * bits];
    if (valid != room) {
      __builtin_memset(part, 0, sizeof(part));
      __builtin_memcpy(part, from, Operand::stored_in(valid));
      from = part;
    }
    unpack_all(codes, from);
    if (valid != room) __builtin_memset(codes + valid, 0, room - valid);
  }
  /// Packs `valid` codes. It clears the others, and so the unused bits of the last byte.
  LOWP_HOST_FN static void pack(byte* to, byte* codes, std::size_t valid) {
    if (valid == room) return pack_all(to, codes);
    __builtin_memset(codes + valid, 0, room - valid);
    byte part[room / 8 * bits];
    pack_all(part, codes);
    __builtin_memcpy(to, part, Operand::stored_in(valid));
  }

 private:
  using halves = simd::pack<std::uint16_t, typename Isa::registers>;

  LOWP_HOST_FN static void unpack_all(byte* codes, byte const* from) {
    if constexpr (is_split) {
      for (std::size_t i = 0; i < room; i += 32)
        for (std::size_t j = 0; j < 16; ++j) {
          codes[i + j] = from[i / 2 + j] & 15;
          codes[i + j + 16] = static_cast<byte>(from[i / 2 + j] >> 4);
        }
    } else if constexpr (bits == 4) {
      LOWP_UNROLL_BY_TWO
      for (std::size_t i = 0; i < room; i += 2 * Isa::lanes) {
        auto const x = halves::load(from + i / 2).v;
        halves::of((is_little ? x | x << 4 : x << 8 | x >> 4) & 0x0f0f)
            .store(reinterpret_cast<std::uint16_t*>(codes + i));
      }
    } else {
      for (std::size_t i = 0; i < room / 4; ++i, from += 3, codes += 4) {
        unsigned const word = from[0] | unsigned{from[1]} << 8 | unsigned{from[2]} << 16;
        for (int k = 0; k < 4; ++k) codes[k] = static_cast<byte>(word >> 6 * k & 63);
      }
    }
  }
  LOWP_HOST_FN static void pack_all(byte* to, byte const* codes) {
    if constexpr (is_split) {
      for (std::size_t i = 0; i < room; i += 32)
        for (std::size_t j = 0; j < 16; ++j)
          to[i / 2 + j] = static_cast<byte>(codes[i + j] | codes[i + j + 16] << 4);
    } else if constexpr (bits == 4) {
      LOWP_UNROLL_BY_TWO
      for (std::size_t i = 0; i < room; i += 2 * Isa::lanes) {
        auto const x = halves::load(reinterpret_cast<std::uint16_t const*>(codes + i)).v;
        halves::of((is_little ? x | x >> 4 : x >> 8 | x << 4) & 0xff).store(to + i / 2);
      }
    } else {
      for (std::size_t i = 0; i < room / 4; ++i, to += 3, codes += 4) {
        unsigned const word = codes[0] | unsigned{codes[1]} << 6 | unsigned{codes[2]} << 12 |
                              unsigned{codes[3]} << 18;
        for (int k = 0; k < 3; ++k) to[k] = static_cast<byte>(word >> 8 * k);
      }
    }
  }
};

}  // namespace lowp::simd
