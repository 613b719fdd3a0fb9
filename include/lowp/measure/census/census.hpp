// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/measure/census/census_groups.hpp>
#include <lowp/measure/census/census_text.hpp>
#include <lowp/measure/census/census_thread.hpp>
#include <lowp/measure/gradients.hpp>

namespace lowp::detail {

/// Runs `census` on `executor`. Returns the error text, empty if all is right.
template <class Executor, class In, census_target To>
[[nodiscard]] LOWP_HOST_FN error_text census_on(Executor const& executor, In&& in,
                                                census_report<To>& report) {
  return read_on(by_blocks(executor), "census", {"in"}, extents_of("in", in), report, in);
}

}  // namespace lowp::detail
