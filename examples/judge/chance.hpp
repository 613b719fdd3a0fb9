// SPDX-License-Identifier: Apache-2.0
// Judges stochastic rounding by counts: probabilities, and bits that are shared or repeated.
#pragma once

#include <string>

#include "files/column.hpp"

namespace judge {

/// Returns true if one number of `in` has two results in `out`.
bool is_stochastic(number_type const& from, column const& in, column const& out);

struct chance_verdict {
  bool is_named = false;
  std::string text;
};
/// @param again  results of a second call, or null
chance_verdict judge_chances(number_type const& from, number_type const& to, column const& in,
                             column const& out, column const* again);

}  // namespace judge
