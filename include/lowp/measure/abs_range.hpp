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
  auto const extents = extents_of("in", in);
  error_text const wrong = check_readable(executor, "abs_range_of", {"in"}, extents, in);
  if (!wrong.empty()) return wrong;
  executor(make_measuring{}, extents[0].size, &report, operand_of<simd::access::read>(in));
  return {};
}

}  // namespace lowp::detail
