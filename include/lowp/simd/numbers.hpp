// SPDX-License-Identifier: Apache-2.0
// Conversions of double and integers between memory and lanes of float.
#pragma once

#include <lowp/simd/operand.hpp>
#include <lowp/simd/pack.hpp>

namespace lowp::simd {

template <class Isa>
LOWP_HOST_FN bool is_zero(wide_word<Isa> const& a) {
  auto const words = word<Isa>::of(typename word<Isa>::vector(a.v[0] | a.v[1]));
  auto const zero = lanes::broadcast<word<Isa>>(0);
  return !lanes::any(lanes::mask_not(lanes::equal(words, zero)));
}

/// Returns the integers at `from` in double: exactly, or rounded to odd with at least 42 digits.
template <class Isa, detail::plain_number K>
LOWP_HOST_FN wide<Isa> load_wide(K const* from) {
  if constexpr (std::is_same_v<K, double>) {
    return wide<Isa>::load(from);
  } else if constexpr (sizeof(K) == 4) {  // 2^52 + x is a double with x for its last bits
    constexpr std::uint32_t sign = std::is_signed_v<K> ? lanes::binary32_sign : 0;
    typename wide_word<Isa>::vector x;
    wide<Isa> d;
    for (int i = 0; i < 2; ++i) {
      Isa::widen(x, reinterpret_cast<std::uint32_t const*>(from) + i * (Isa::lanes / 2));
      d.v[i] = typename wide<Isa>::vector(x ^ (sign | 0x4330000000000000));
    }
    return lanes::sub(d, lanes::broadcast<wide<Isa>>(0x1p52 + sign));
  } else {
    // 2^84 + 2^32 high and 2^52 + low are doubles whose last bits are the halves of the integer.
    using W = wide_word<Isa>;
    constexpr bool is_signed = std::is_signed_v<K>;
    constexpr std::uint64_t sign = is_signed ? std::uint64_t{1} << 31 : 0;
    constexpr double origin = 0x1p84 + 0x1p52 + (is_signed ? 0x1p63 : 0);
    W x = W::load(reinterpret_cast<std::uint64_t const*>(from));
    W const beyond = (x + (is_signed ? std::uint64_t{1} << 52 : 0)) >> 53;
    if (!is_zero(beyond)) [[unlikely]] {
      W const zero = lanes::broadcast<W>(0), is_large = zero - ((zero - beyond) >> 63);
      W odd = x;
      detail::make_odd_multiple<11>(odd);
      x = lanes::select(is_large, odd, x);
    }
    W const high = (x >> 32) ^ (sign | 0x4530000000000000),
            low = (x & 0xffffffff) ^ 0x4330000000000000;
    auto const d = lanes::from_bits<wide<Isa>>(high);
    return lanes::add(lanes::sub(d, lanes::broadcast<wide<Isa>>(origin)),
                      lanes::from_bits<wide<Isa>>(low));
  }
}

inline namespace LOWP_UNIT {

// Conversions element by element, for all backends: lanes of float are too short for these.

template <class T, class R>
LOWP_OPAQUE void read_each(float* to, T const* from, R const& rounding, std::uint16_t const* random,
                           overflow policy, int count) {
  for (int i = 0; i < count; ++i) {
    if constexpr (detail::is_stochastic_when_read<R>)
      to[i] =
          convert<float>(convert<typename R::target>(from[i], stochastic_bits{random[i]}, policy));
    else if constexpr (requires { typename detail::read_plan<R>::beyond; })
      to[i] = convert<float>(from[i], detail::read_plan<R>::mode(rounding), overflow::infinity);
    else
      to[i] = convert<float>(from[i], rounding, policy);
  }
}

}  // namespace LOWP_UNIT

/// Returns the floats of patterns that floats have.
template <class Isa>
LOWP_HOST_FN pack<float, Isa> narrowed(wide_word<Isa> const& pattern) {
  auto const values = lanes::from_bits<wide<Isa>>(pattern);
  pack<float, Isa> x;
  Isa::narrow(x, values.v[0], values.v[1]);
  return x;
}

/// Rounds to odd. Returns false, for another way, if a lane is no normal float.
template <class Isa>
LOWP_HOST_FN bool round_to_odd(pack<float, Isa>& rounded, wide<Isa> const& exact) {
  wide_word<Isa> odd = lanes::bits(exact);
  detail::make_odd_multiple<29>(odd);  // 24 digits are left
  rounded = narrowed(odd);
  wide_word<Isa> const back = lanes::bits(lanes::widen(rounded));
  return is_zero(wide_word<Isa>::of(back.v[0] ^ odd.v[0], back.v[1] ^ odd.v[1]));
}

/// The magnitudes of all lanes are above 2^Least and below 2^Beyond.
template <int Least, int Beyond, class Isa>
LOWP_HOST_FN bool all_between(pack<float, Isa> const& x) {
  constexpr std::uint32_t least = static_cast<std::uint32_t>(Least + 127) << 23,
                          last = (static_cast<std::uint32_t>(Beyond + 127) << 23) - 1;
  // A single comparison: magnitudes up to the least wrap to large numbers.
  constexpr std::uint32_t origin = least + 1 + lanes::binary32_sign;
  auto const from_origin = lanes::magnitude(x) - origin;
  return !lanes::any(lanes::greater(from_origin, lanes::broadcast<word<Isa>>(last - origin)));
}

/// Rounds by R. Returns false, for another way, if a lane is infinite, NaN, or may overflow.
template <class Isa, class R>
LOWP_HOST_FN bool round_once(pack<float, Isa>& rounded, wide<Isa> const& exact, R const& rounding,
                             std::uint16_t const* random) {
  using W = wide_word<Isa>;
  using plan = detail::read_plan<R>;
  constexpr format F = plan::target;
  constexpr std::uint64_t sign = detail::binary64_sign, too_large = detail::binary64_power(127);
  auto const mode = plan::mode(rounding);
  W const pattern = lanes::bits(exact);
  W const negative = lanes::broadcast<W>(0) - (pattern >> 63);
  W draws = lanes::broadcast<W>(0);
  if constexpr (detail::is_stochastic_when_read<R>)
    for (int i = 0; i < 2; ++i) Isa::widen(draws.v[i], random + i * (Isa::lanes / 2));
  rounded = narrowed(detail::round_wide_normal<F>(pattern, negative, draws, mode));
  if (all_between<F.min_exponent(), 127>(rounded)) [[likely]]
    return true;

  W const magnitude = pattern & ~sign;
  W const beyond = (magnitude + (sign - too_large)) >> 63;
  if (!is_zero(beyond)) return false;
  rounded = narrowed(detail::round_wide<F, wide<Isa>>(magnitude, negative, draws, mode) |
                     (pattern & sign));
  return true;
}

/// Loads the numbers at `from`, rounded to float. `random` has their bits if the mode draws.
template <class Isa, detail::plain_number T, class R>
LOWP_HOST_FN auto load_rounded(T const* from, R const& rounding, std::uint16_t const* random,
                               overflow policy) {
  using registers = typename Isa::registers;
  using U = word<registers>;
  using F = pack<float, registers>;
  if constexpr (detail::is_always_a_float<T>) {
    U const x = U::load(reinterpret_cast<std::make_unsigned_t<T> const*>(from));
    constexpr std::uint32_t sign = std::is_signed_v<T> ? 1u << (8 * sizeof(T) - 1) : 0;
    return lanes::to_real((x ^ sign) - sign);
  } else {
    F rounded;
    float values[Isa::lanes];
    if constexpr (std::same_as<R, detail::intermediate_rounding<to_odd>>) {
      if (round_to_odd<registers>(rounded, load_wide<registers>(from))) [[likely]]
        return rounded;
    } else if constexpr (std::same_as<R, nearest_even>) {
      auto const exact = load_wide<registers>(from);
      registers::narrow(rounded, exact.v[0], exact.v[1]);
      if (policy != overflow::saturate || !lanes::any(lanes::mask_not(lanes::is_finite(rounded))))
        return rounded;
    } else {
      if (round_once(rounded, load_wide<registers>(from), rounding, random)) [[likely]]
        return rounded;
    }
    read_each(values, from, rounding, random, policy, Isa::lanes);
    return F::load(values);
  }
}

}  // namespace lowp::simd
