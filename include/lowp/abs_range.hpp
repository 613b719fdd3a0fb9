// SPDX-License-Identifier: Apache-2.0
// abs_range_of: the smallest and largest magnitude of a tensor, and its NaN and infinities.
#pragma once

#include <lowp/measure/abs_range.hpp>

namespace lowp::detail {

template <class T>
inline constexpr bool is_abs_range_report = false;
template <class To>
inline constexpr bool is_abs_range_report<abs_range_report<To>&> = true;
template <class T>
using not_an_abs_range_report = fit<is_abs_range_report<T>>;

template <class Executor>
struct abs_range_of_operation : operation<Executor> {
  using calls = call<needs_readable<names::in>, needs<names::report, not_an_abs_range_report>>;

  template <readable S, census_target To>
  LOWP_HOST_FN void operator()(S&& in, abs_range_report<To>& report) const {
    this->executor.refuse_if(abs_range_on(this->executor, in, report));
  }
};

template <census_target To, class Executor, class S>
LOWP_HOST_FN abs_range abs_range_from(Executor const& executor, S&& in) {
  abs_range_report<To> report;
  executor.refuse_if(abs_range_on(executor, in, report));
  return report;
}

}  // namespace lowp::detail

namespace lowp::functions {

/// Returns the smallest and largest magnitude of `in`, and counts NaN, infinities and overflows in
/// `To`. Overflow is decided after rounding, as by `census`.
///
/// Exact in one pass, and the same on every executor. `census` counts more, such as new zeros.
///
/// @return     merges with the result of other ranges by +=
/// @tparam To  float, in which no finite float overflows; or a narrow type, but not float8_e8m0fnu
/// @param in   n elements, or any struct of the folder storage
/// @throws std::invalid_argument  a storage has parts of different sizes, or an invalid scale
template <census_target To = float, readable S>
[[nodiscard]] LOWP_HOST_FN abs_range abs_range_of(S&& in) {
  return detail::abs_range_from<To>(simd::this_thread{}, in);
}

}  // namespace lowp::functions
