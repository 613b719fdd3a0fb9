// SPDX-License-Identifier: Apache-2.0
// double and integers between memory and lanes of float.
#pragma once

#include <lowp/basic_float.hpp>
#include <lowp/narrowing.hpp>
#include <lowp/simd/pack.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace lowp {

namespace detail {

/// Double, and the integers of 8 to 64 bits: neither characters nor bool.
template <class T>
concept plain_number = one_of<T, double, signed char, unsigned char, short, unsigned short, int,
                              unsigned, long, unsigned long, long long, unsigned long long>;

template <class T>
inline constexpr bool is_always_a_float = std::integral<T> && sizeof(T) <= 2;

/// The mode of what is read: each element becomes a value of To, as `stochastic` rounds it. Its 2^-16 of
/// a gap are more digits than a float has beyond those of a 16-bit format.
template <element To>
struct drawn {
  using target = To;
  stochastic mode;

  static constexpr bool is_stochastic = true;
  LOWP_HOST_FN drawn after(std::uint64_t count) const { return {mode.after(count)}; }
};
template <class R>
inline constexpr bool is_drawn = false;
template <class To>
inline constexpr bool is_drawn<drawn<To>> = true;

}  // namespace detail

namespace simd {

/// x becomes the odd one of the two multiples of 2^Bits that enclose it, unless it is one.
template <int Bits, class W>
LOWP_HOST_FN void make_odd_multiple(W& x) {
  constexpr std::uint64_t dropped = (std::uint64_t{1} << Bits) - 1;
  x = (x | ((x & dropped) + dropped)) & ~dropped;
}

/// The integers at `from` in double: exactly, or rounded to odd to at least 42 digits.
template <class Isa, std::integral I>
LOWP_HOST_FN wide<Isa> load_wide(I const* from) {
  wide<Isa> d;
  if constexpr (sizeof(I) == 4) {  // by way of two floats
    using F = pack<float, Isa>;
    constexpr std::uint32_t sign = std::is_signed_v<I> ? lanes::binary32_sign : 0;
    auto const x = word<Isa>::load(reinterpret_cast<std::uint32_t const*>(from)) ^ sign;
    auto const high = lanes::widen<F>(lanes::to_real(x >> 8)),
               low = lanes::widen<F>(lanes::to_real(x & 0xff));
    auto const from_zero = lanes::sub(low, lanes::spread<wide<Isa>>(sign));
    return lanes::add_product(from_zero, high, lanes::spread<wide<Isa>>(256));
  } else {
    // 2^84 + 2^32 high and 2^52 + low are doubles with the halves of the integer for their last bits.
    using W = typename wide<Isa>::words;
    constexpr bool is_signed = std::is_signed_v<I>;
    constexpr std::uint64_t sign = is_signed ? std::uint64_t{1} << 31 : 0;
    constexpr double origin = 0x1p84 + 0x1p52 + (is_signed ? 0x1p63 : 0);
    wide<Isa> low;
    for (int i = 0; i < 2; ++i) {
      W x;
      __builtin_memcpy(&x, from + i * (Isa::lanes / 2), sizeof(x));
      W const beyond = (x + (is_signed ? std::uint64_t{1} << 52 : 0)) >> 53;
      W const is_large = W{} - ((W{} - beyond) >> 63);  // all bits set
      W odd = x;
      make_odd_multiple<11>(odd);
      x ^= (x ^ odd) & is_large;
      d.v[i] = (typename wide<Isa>::vector)(((x >> 32) ^ sign) | 0x4530000000000000);
      low.v[i] = (typename wide<Isa>::vector)((x & 0xffffffff) | 0x4330000000000000);
    }
    return lanes::add(lanes::sub(d, lanes::spread<wide<Isa>>(origin)), low);
  }
}
template <class Isa>
LOWP_HOST_FN wide<Isa> load_wide(double const* from) {
  wide<Isa> d;
  for (int i = 0; i < 2; ++i) {  // by way of a register: g++ copies both at once in smaller pieces
    typename wide<Isa>::vector half;
    __builtin_memcpy(&half, from + i * (Isa::lanes / 2), sizeof(half));
    d.v[i] = half;
  }
  return d;
}

/// The lanes of the numbers at `from`, rounded to float. Most are normal floats, which one instruction
/// rounds to nearest even, and changes no more if they are rounded to odd.
template <class Isa, detail::plain_number T, class R>
LOWP_HOST_FN auto load_rounded(T const* from, R const& rounding, overflow policy) {
  using registers = typename Isa::registers;
  using U = word<registers>;
  using F = pack<float, registers>;
  if constexpr (detail::is_always_a_float<T>) {
    U const x = U::load(reinterpret_cast<std::make_unsigned_t<T> const*>(from));
    constexpr std::uint32_t sign = std::is_signed_v<T> ? 1u << (8 * sizeof(T) - 1) : 0;
    return lanes::to_real((x ^ sign) - sign);
  } else {
    auto const exact = load_wide<registers>(from);
    if constexpr (std::same_as<R, to_odd> || std::same_as<R, nearest_even>) {
      auto near = exact;
      if constexpr (std::same_as<R, to_odd>) {
        for (auto& half : near.v) {
          auto bits = (typename wide<registers>::words)half;
          make_odd_multiple<29>(bits);
          half = (typename wide<registers>::vector)bits;
        }
      }
      F const rounded = lanes::narrowed<F>(near);
      if (detail::are_normal(lanes::magnitude(rounded))) [[likely]]
        return rounded;
    }
    U low, high;
    Isa::even_and_odd(low, high, U::of((typename U::vector)exact.v[0]),
                      U::of((typename U::vector)exact.v[1]));
    return lanes::from_bits<F>(detail::binary64_to_binary32(high, low, rounding, policy));
  }
}

inline namespace LOWP_UNIT {

/// The same, drawn, one by one.
template <class To, class T>
LOWP_OPAQUE void draw(float* to, T const* from, std::uint16_t const* random, overflow policy,
                      int count) {
  for (int i = 0; i < count; ++i)
    to[i] = convert<float>(convert<To>(from[i], stochastic_bits{random[i]}, policy));
}

}  // namespace LOWP_UNIT

template <class Isa, class To, detail::plain_number T>
LOWP_HOST_FN auto load_drawn(T const* from, std::uint16_t const* random, overflow policy) {
  float values[Isa::lanes];
  draw<To>(values, from, random, policy, Isa::lanes);
  return pack<float, typename Isa::registers>::load(values);
}

/// And to memory, as double.
template <class Isa>
LOWP_HOST_FN void store_widened(double* to, pack<float, Isa> const& value) {
  auto const wide = lanes::widen(value);
  for (int i = 0; i < 2; ++i)
    __builtin_memcpy(to + i * (Isa::lanes / 2), &wide.v[i], sizeof(wide.v[i]));
}

}  // namespace simd

}  // namespace lowp
