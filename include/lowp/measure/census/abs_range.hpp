// SPDX-License-Identifier: Apache-2.0
// The smallest and largest magnitude of a tensor, and its NaN and infinities.
#pragma once

#include <lowp/measure/census/abs_range_report.hpp>

namespace lowp::functions {

/// Returns the smallest and largest magnitude of `in`, and counts NaN, infinities and overflows in
/// `To`, exactly. Overflow is decided after rounding, as by `census`, which counts more.
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
