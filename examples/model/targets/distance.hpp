// SPDX-License-Identifier: Apache-2.0
// Counts the units of a format's last place between two numbers.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "targets/targets.hpp"

/// The place of a number on a line. Neighbouring values of a format are one apart there, those next
/// to zero too. The line is straight between neighbours. Beyond the largest value it goes on as if
/// the exponent had no upper end.
struct place {
  std::int64_t whole = 0;
  double rest = 0;  ///< from 0 to 1, away from zero
  bool is_negative = false;
};

/// @param x  finite
inline place place_of(double x, format_facts const& in) {
  constexpr int double_bits = 52;
  int const p = in.significand_bits;
  auto const bits = std::bit_cast<std::uint64_t>(std::fabs(x));
  int const exponent = static_cast<int>(bits >> double_bits) - 1023;
  place at{.is_negative = std::signbit(x)};
  if (exponent >= in.min_exponent) {
    std::uint64_t const significand = bits & ((std::uint64_t{1} << double_bits) - 1);
    int const dropped = double_bits - p;
    at.whole = (std::int64_t{exponent - in.min_exponent + 1} << p) +
               static_cast<std::int64_t>(significand >> dropped);
    at.rest = std::ldexp(static_cast<double>(significand & ((std::uint64_t{1} << dropped) - 1)),
                         -dropped);
  } else {
    double const steps = std::ldexp(std::fabs(x), p - in.min_exponent);
    at.whole = static_cast<std::int64_t>(steps);
    at.rest = steps - static_cast<double>(at.whole);
  }
  return at;
}

/// In ulps: steps from one value of the format to the next. An integer if both are values of it.
inline double distance(double a, double b, format_facts const& in) {
  place const x = place_of(a, in), y = place_of(b, in);
  if (x.is_negative != y.is_negative)
    return static_cast<double>(x.whole) + static_cast<double>(y.whole) + (x.rest + y.rest);
  return std::fabs(static_cast<double>(x.whole - y.whole) + (x.rest - y.rest));
}
