// SPDX-License-Identifier: Apache-2.0
// The cheapest check of a tensor: its smallest and largest magnitude, and if it is sound.
#pragma once

#include <lowp/measure/census/abs_range_report.hpp>
#include <lowp/measure/gradients.hpp>

namespace lowp {

namespace detail {

/// Runs `abs_range_of` on `executor`. Returns the error text, empty if all is right.
template <class Executor, class S, census_target To>
[[nodiscard]] LOWP_HOST_FN error_text abs_range_on(Executor const& executor, S&& in,
                                                   abs_range_report<To>& report) {
  must_be_readable<S>();
  auto const extents = extents_of("in", in);
  error_text wrong = invalid_among("abs_range_of", {"in"}, in);
  if (wrong.empty()) wrong = unequal_sizes("abs_range_of", extents);
  if (wrong.empty()) wrong = out_of_reach(executor, "abs_range_of", extents);
  if (!wrong.empty()) return wrong;
  executor(make_measuring{}, extents[0].size, &report, operand_of<simd::access::read>(in));
  return {};
}

}  // namespace detail

/// Smallest and largest magnitude of `in`, how many elements are NaN or infinite, and how many would
/// overflow in `To`, decided after rounding as by `census`: one pass, exact, the same wherever it is
/// taken. Where more is asked of a tensor than that, such as what would become zero, take a census.
///
/// @return     merges with that of other ranges by +=
/// @tparam To  float, which finite floats do not overflow, or a narrow type, but float8_e8m0fnu
/// @param in   n elements, or any struct of the folder storage
/// @throws std::invalid_argument  a storage whose parts differ in size, or whose scale is none
template <census_target To = float, readable S>
[[nodiscard]] LOWP_HOST_FN abs_range abs_range_of(S&& in) {
  abs_range_report<To> report;
  detail::refuse_if(detail::abs_range_on(simd::this_thread{}, in, report));
  return report;
}

}  // namespace lowp
