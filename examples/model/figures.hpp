// SPDX-License-Identifier: Apache-2.0
// Figures kept of a tensor's census. A range_census has two kilobytes, most of them zero, and a
// model may have many thousand tensors.
#pragma once

#include <cstdint>
#include <vector>

#include "selection.hpp"

struct figures {
  std::uint64_t count = 0, zeros = 0, nan = 0, infinite = 0;
  std::uint64_t overflow = 0, subnormal = 0, flushed = 0;
  double min_abs = 0, max_abs = 0;  ///< of the finite values that are not zero; 0 if there are none
  float max_relative_error = 0;
  double mean_square_error = 0;
  int lowest = 0;                        ///< binary exponent of the first of
  std::vector<std::uint64_t> exponents;  ///< how many there are of each

  figures() = default;
  explicit figures(tensor_census const& all);

  [[nodiscard]] int highest() const { return lowest + static_cast<int>(exponents.size()) - 1; }
  /// Nothing overflows and nothing is flushed: every value is rounded, and none is lost.
  [[nodiscard]] bool is_in_range() const { return overflow == 0 && flushed == 0; }
  /// The share of the finite numbers that are not zero.
  [[nodiscard]] double share_flushed() const;
};
