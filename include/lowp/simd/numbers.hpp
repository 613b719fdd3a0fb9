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

/// The lanes of the numbers at `from`, rounded to float.
template <class Isa, detail::plain_number T, class R>
LOWP_HOST_FN auto load_rounded(T const* from, R const& rounding, overflow policy) {
  using namespace lanes;
  using registers = typename Isa::registers;
  using U = word<registers>;
  using F = pack<float, registers>;
  U const zero = spread<U>(0);
  if constexpr (detail::is_always_a_float<T>) {
    U const x = U::load(reinterpret_cast<std::make_unsigned_t<T> const*>(from));
    constexpr std::uint32_t sign = std::is_signed_v<T> ? 1u << (8 * sizeof(T) - 1) : 0;
    return to_real((x ^ sign) - sign);
  } else if constexpr (sizeof(T) == 4) {
    U const x = U::load(reinterpret_cast<std::uint32_t const*>(from));
    U const sign = std::is_signed_v<T> ? x & binary32_sign : zero;
    U const magnitude = select(greater(zero, sign), zero - x, x);
    if (!any(greater(magnitude >> 24, zero))) return to_real(x);
    return from_bits<F>(detail::integer_to_binary32(sign, zero, magnitude, rounding, policy));
  } else {
    auto const* const words = reinterpret_cast<std::uint32_t const*>(from);
    U low, high;
    Isa::even_and_odd(low, high, U::load(words), U::load(words + Isa::lanes));
    if constexpr (std::same_as<T, double>)
      return from_bits<F>(detail::binary64_to_binary32(high, low, rounding, policy));
    U const sign = std::is_signed_v<T> ? high & binary32_sign : zero;
    auto const negative = greater(zero, sign);
    U const borrowed = zero - high - detail::is_set(low);
    return from_bits<F>(detail::integer_to_binary32(sign, select(negative, borrowed, high),
                                                    select(negative, zero - low, low), rounding,
                                                    policy));
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
  __builtin_memcpy(to, &wide.v, sizeof(wide.v));
}

}  // namespace simd

}  // namespace lowp
