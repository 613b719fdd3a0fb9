// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "targets/targets.hpp"

template <class T>
constexpr format_facts make_facts() {
  using limits = std::numeric_limits<T>;
  auto const number = [](T x) { return static_cast<double>(x); };
  // numeric_limits counts exponents from 0.1 in binary.
  return {limits::digits - 1,    limits::min_exponent - 1, limits::max_exponent - 1,
          number(limits::max()), number(limits::min()),    number(limits::denorm_min()),
          limits::has_infinity,  limits::has_quiet_NaN};
}
