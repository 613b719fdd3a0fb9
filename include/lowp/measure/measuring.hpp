// SPDX-License-Identifier: Apache-2.0
// The element function of operations that read for a report.
#pragma once

#include <lowp/measure/batch_sums.hpp>
#include <lowp/ops/storage_operands.hpp>

namespace lowp::detail {

struct measuring {
  LOWP_FN auto operator()(auto const& x) const { return x; }
  template <class F>
  LOWP_FN factors<F> operator()(F const& a, F const& b) const {
    return {a, b};
  }
};

/// A variable of a report that is of these counts and a type, such as census_report<float16>.
template <class R, class Counts>
concept report_of_type = std::is_lvalue_reference_v<R> && !std::same_as<R, Counts&> &&
                         std::convertible_to<std::remove_reference_t<R>*, Counts*>;

LOWP_HOST_FN gradient_report measured(auto&& range) {
  gradient_report report;
  run(by_blocks(simd::this_thread{}), "measure", make<measuring>{}, &report, read("g", range));
  return report;
}
LOWP_HOST_FN amax largest_of(auto&& range) { return measured(range).largest; }

}  // namespace lowp::detail
