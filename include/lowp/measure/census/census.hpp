// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/measure/census/census_batches.hpp>
#include <lowp/measure/census/census_text.hpp>
#include <lowp/measure/gradients.hpp>

namespace lowp::detail {

/// Runs `census` on `executor`. Returns the error text, empty if all is right.
template <class Executor, class In, census_target To>
[[nodiscard]] LOWP_HOST_FN error_text census_on(Executor const& executor, In&& in,
                                                census_report<To>& report) {
  extent const from("in", in);
  call_check check("census");
  check.reachable(executor, {from});
  if (check.failed()) return check.text();
  by_blocks(executor)(make_measuring{}, from.size, &report,
                      simd::operand<element_of<In>, simd::access::read>{std::ranges::data(in)});
  return {};
}

}  // namespace lowp::detail
