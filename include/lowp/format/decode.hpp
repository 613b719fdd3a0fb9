// SPDX-License-Identifier: Apache-2.0
// Decoding in integer arithmetic, once for every format and lane type.
#pragma once

#include <lowp/format/format.hpp>
#include <lowp/lanes/lanes.hpp>

namespace lowp::detail {

/// Returns the binary32 pattern of a subnormal magnitude of F, zero included.
template <format F, class U>
LOWP_FN constexpr U decode_subnormal(U const& magnitude) {
  using namespace lanes;
  if constexpr (F.significand_bits == 0) return broadcast<U>(0);
  if constexpr (lane<U>::computes_exactly) {  // 1.m - 1.0, scaled: neither is subnormal in binary32
    using R = decltype(to_real(magnitude));
    constexpr auto one = static_cast<std::uint32_t>(F.min_exponent() + 127) << 23;
    U const with_one = (magnitude << (23 - F.significand_bits)) + one;
    if (!__builtin_is_constant_evaluated())
      return bits(sub(from_bits<R>(with_one), from_bits<R>(broadcast<U>(one))));
  }
  constexpr auto scale = static_cast<std::uint32_t>(F.min_exponent() - F.significand_bits) << 23;
  U const zero = broadcast<U>(0);
  return select(equal(magnitude, zero), zero, bits(to_real(magnitude)) + scale);
}

/// Decodes codes to binary32 patterns. A NaN comes out quiet, except if widening is a shift.
template <format F, class U>
LOWP_FN constexpr U decode(U const& code) {
  using namespace lanes;
  constexpr int shift = 23 - F.significand_bits;
  if constexpr (F.is_truncated_binary32()) return code << (32 - F.bits());

  U const magnitude = code & F.magnitude_mask();
  if constexpr (lane<U>::computes_exactly && std::integral<U> &&
                F.special_values == specials::none && F.has_zero() && F.has_sign && F.bits() < 8 &&
                F.bias > 0) {
    // A GPU multiplies subnormals as fast, and all codes have the same distance from the exponents.
    using R = decltype(to_real(magnitude));
    constexpr auto power = static_cast<std::uint32_t>(254 - F.bias) << 23;
    U const tiny = (magnitude << shift) | ((code << (32 - F.bits())) & binary32_sign);
    if (!__builtin_is_constant_evaluated())
      return bits(mul(from_bits<R>(tiny), from_bits<R>(broadcast<U>(power))));
  }
  U b = (magnitude << shift) + (static_cast<std::uint32_t>(127 - F.bias) << 23);
  if constexpr (F.has_zero())
    b = select(greater(broadcast<U>(F.min_normal_code()), magnitude),
               decode_subnormal<F>(magnitude), b);
  if constexpr (F.min_exponent() == -127)  // subnormal in binary32
    b = select(equal(magnitude, broadcast<U>(F.min_normal_code())), broadcast<U>(1u << 22), b);
  if constexpr (F.special_values == specials::ieee) {
    auto const is_special = greater(magnitude, broadcast<U>(F.max_code()));
    if (any(is_special)) {
      U const payload = (magnitude & F.significand_mask()) << shift;
      U const special =
          payload | select(equal(payload, broadcast<U>(0)), broadcast<U>(binary32_infinity),
                           broadcast<U>(binary32_nan));
      b = select(is_special, special, b);
    }
  }
  if constexpr (F.special_values == specials::p3109_extended)
    b = select(equal(magnitude, broadcast<U>(F.infinity_code())), broadcast<U>(binary32_infinity),
               b);
  if constexpr (F.special_values == specials::nan_all_ones)
    b = select(equal(magnitude, broadcast<U>(F.magnitude_mask())), broadcast<U>(binary32_nan), b);
  if constexpr (F.has_sign) b = b | ((code << (32 - F.bits())) & binary32_sign);
  if constexpr (F.has_one_nan())
    b = select(equal(code & F.code_mask(), broadcast<U>(F.nan_code())), broadcast<U>(binary32_nan),
               b);
  return b;
}

}  // namespace lowp::detail
