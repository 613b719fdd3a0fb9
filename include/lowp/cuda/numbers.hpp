// SPDX-License-Identifier: Apache-2.0
// double and integers in the registers of a thread: a cast reads them as floats, and writes double.
#pragma once

#include <lowp/simd/operand.hpp>

namespace lowp::cuda {

/// Returns the number of this code in double: exactly, or rounded to odd with at least 42 digits.
template <detail::plain_number T, class Code>
LOWP_FN double widened(Code code) {
  if constexpr (std::same_as<T, double>) {
    return lanes::from_bits<double>(code);
  } else {
    if constexpr (sizeof(T) == 8) {
      constexpr Code shortest = Code{1} << 53, origin = std::is_signed_v<T> ? shortest : 0;
      if (code + origin > shortest + origin) detail::make_odd_multiple<11>(code);
    }
    return static_cast<double>(static_cast<T>(code));
  }
}

/// Returns the float that the number of this code becomes where it is read.
template <detail::plain_number T, class R, class Code>
LOWP_FN float read_number(Code code, R const& rounding, std::uint32_t random, overflow policy) {
  if constexpr (detail::is_always_a_float<T>) {
    return static_cast<float>(static_cast<T>(code));
  } else {
    using plan = detail::read_plan<R>;
    auto const mode = plan::mode(rounding);
    double const wide = widened<T>(code);
    std::uint64_t const pattern = lanes::bits(wide);
    bool const negative = pattern >> 63 != 0;
    // Beyond 2^1023 every target overflows alike.
    std::uint64_t const magnitude =
        lanes::min(pattern & ~detail::binary64_sign, detail::binary64_power(1023));
    std::uint64_t const rounded =
        detail::round_wide<plan::target, double>(magnitude, negative, std::uint64_t{random}, mode);
    std::uint32_t const b =
        lanes::hidden(lanes::bits(lane<float>::narrowed(lanes::from_bits<double>(rounded))));
    if (b < lanes::binary32_infinity) [[likely]]
      return lanes::from_bits<float>(b | (negative ? lanes::binary32_sign : 0));
    detail::unpacked const u = detail::unpack(wide);
    if constexpr (requires { typename plan::beyond; })
      return lanes::from_bits<float>(
          detail::finish_binary32(b, u, typename plan::beyond{}, overflow::infinity));
    else
      return lanes::from_bits<float>(detail::finish_binary32(b, u, mode, policy));
  }
}

/// The pattern of a float's value in double: quiet if it is a NaN, with sign and payload.
LOWP_FN std::uint64_t widened_pattern(float x) {
  constexpr std::uint64_t nan = 0x7ff8000000000000;
  std::uint64_t const b = lanes::bits(x);
  // No instruction is trusted with a NaN.
  return lanes::is_nan(x) ? (b << 32 & detail::binary64_sign) | nan | (b & 0x3fffff) << 29
                          : __builtin_bit_cast(std::uint64_t, lanes::widen(x));
}

}  // namespace lowp::cuda
