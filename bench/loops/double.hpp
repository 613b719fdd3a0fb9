// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace bench {

/// Rounds to odd, so that rounding the float once more gives the result of one rounding.
inline float to_odd_float(double x) {
  auto const nearest = static_cast<float>(x);
  double const back = nearest;
  std::uint32_t const is_inexact = back != x, is_too_far = std::abs(back) > std::abs(x);
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(nearest) - is_too_far) | is_inexact);
}

}  // namespace bench
