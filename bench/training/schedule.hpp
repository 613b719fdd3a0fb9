// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace training {

struct schedule {
  double lr;  ///< to nearly zero along half a cosine, unless `is_constant`
  std::uint64_t steps;
  bool is_constant = false;
};

/// `step` counts from 1.
inline double rate_at(std::uint64_t step, schedule const& s) {
  if (s.is_constant) return s.lr;
  double const done = static_cast<double>(step - 1) / static_cast<double>(s.steps);
  return s.lr * (1 + std::cos(std::numbers::pi * done)) / 2;
}

}  // namespace training
