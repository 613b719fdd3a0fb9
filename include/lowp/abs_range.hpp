// SPDX-License-Identifier: Apache-2.0
// The cheapest look at a tensor: how small, how large, and whether it is still sound.
#pragma once

#include <lowp/measure/abs_range.hpp>

namespace lowp {

namespace detail {

/// Adds the range of `in` to a report.
template <class Executor>
struct abs_range_of_operation : operation<Executor> {
  template <readable S, census_target To>
  LOWP_HOST_FN void operator()(S&& in, abs_range_report<To>& report) const {
    this->executor.refuse_if(abs_range_on(this->executor, in, report));
  }
};

/// Returns it.
template <census_target To, class Executor, class S>
LOWP_HOST_FN abs_range abs_range_from(Executor const& executor, S&& in) {
  abs_range_report<To> report;
  executor.refuse_if(abs_range_on(executor, in, report));
  return report;
}

}  // namespace detail

namespace functions {

/// Returns the smallest and largest magnitude of `in`, how many elements are NaN or infinite, and how many
/// would overflow in `To`, decided after rounding as by `census`.
///
/// One pass, exact, the same on every executor. A census tells more, such as what would become zero.
///
/// @return     merges with that of other ranges by +=
/// @tparam To  float, which finite floats do not overflow, or a narrow type, but float8_e8m0fnu
/// @param in   n elements, or any struct of the folder storage
/// @throws std::invalid_argument  a storage whose parts differ in size, or whose scale is none
template <census_target To = float, readable S>
[[nodiscard]] LOWP_HOST_FN abs_range abs_range_of(S&& in) {
  return detail::abs_range_from<To>(simd::this_thread{}, in);
}

}  // namespace functions

}  // namespace lowp
