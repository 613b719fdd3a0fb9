// SPDX-License-Identifier: Apache-2.0
// Infinities and NaN among codes that lie side by side in words of 32 bits.
#pragma once

#include <lowp/format/basic_float.hpp>

namespace lowp::detail {

/// Says that a type stores each magnitude below 256 as a finite value.
template <class T>
inline constexpr bool holds_small = true;
template <narrow T>
inline constexpr bool holds_small<T> = T::descriptor.max_exponent() > 7;

/// Returns a word that is 0 if and only if all codes in it are finite values. T is signed.
template <element T, class U>
LOWP_FN U nonfinite_codes(U const& word) {
  if constexpr (narrow<T>) {
    constexpr format f = T::descriptor;
    constexpr std::uint32_t ones = sizeof(T) == 1 ? 0x01010101 : 0x00010001;
    constexpr std::uint32_t signs = f.sign_mask() * ones;
    // Adding this sets the sign's bit for the least infinity or NaN, and those beyond.
    constexpr std::uint32_t rest = f.sign_mask() - (f.max_code() + 1);
    U const top = ((word & f.magnitude_mask() * ones) + rest * ones) & signs;
    if constexpr (!f.has_one_nan()) {
      return top;
    } else {  // NaN is the code that would be -0
      constexpr std::uint32_t highest = sizeof(T) == 1 ? 0x80808080 : 0x80008000;
      U const difference = word ^ signs;
      return top | ((difference - ones) & (difference ^ 0xffffffff) & highest);
    }
  } else {
    U const magnitude = word & (lanes::binary32_sign - 1);
    return (magnitude + (lanes::binary32_sign - lanes::binary32_infinity)) & lanes::binary32_sign;
  }
}

}  // namespace lowp::detail
