// SPDX-License-Identifier: Apache-2.0
// The cheapest check of a tensor: its smallest and largest magnitude, and if it is sound.
#pragma once

#include <lowp/measure/census/abs_range_report.hpp>
#include <lowp/measure/gradients.hpp>

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
    run(this->executor, "abs_range_of", make<measuring>{}, &report, read("in", in));
  }
};

template <census_target To, class Executor, class S>
LOWP_HOST_FN abs_range abs_range_from(Executor const& executor, S&& in) {
  abs_range_report<To> report;
  abs_range_of_operation<Executor>{executor}(in, report);
  return report;
}

}  // namespace lowp::detail
