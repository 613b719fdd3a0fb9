// SPDX-License-Identifier: Apache-2.0
// The cheapest check of a tensor: its smallest and largest magnitude, and if it is sound.
#pragma once

#include <lowp/measure/census/abs_range_report.hpp>
#include <lowp/measure/gradients.hpp>

namespace lowp::detail {

/// Runs `abs_range_of` on `executor`. Returns the error text, empty if all is right.
template <class Executor, class S, census_target To>
[[nodiscard]] LOWP_HOST_FN error_text abs_range_on(Executor const& executor, S&& in,
                                                   abs_range_report<To>& report) {
  return read_on(executor, "abs_range_of", {"in"}, extents_of("in", in), report, in);
}

}  // namespace lowp::detail
