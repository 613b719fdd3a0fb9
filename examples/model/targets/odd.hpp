// SPDX-License-Identifier: Apache-2.0
// From double to float by rounding to odd.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

/// The float with an odd significand next to x, if x is no float: rounding it to a format of at
/// most 22 bits is rounding x (S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded
/// sums: proved algorithms using rounding to odd", IEEE TC 57, 2008).
inline float rounded_to_odd(double x) {
  auto const nearest = static_cast<float>(x);
  if (std::isnan(x) || static_cast<double>(nearest) == x) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(x)) --bits;
  return std::bit_cast<float>(bits | 1);
}
