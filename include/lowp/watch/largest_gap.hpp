// SPDX-License-Identifier: Apache-2.0
// The gap between the values of a storage at its largest one.
#pragma once

#include <lowp/base/environment.hpp>
#include <lowp/format/math.hpp>
#include <lowp/measure/measuring.hpp>
#include <lowp/train/least_update.hpp>
#include <lowp/train/optimizer.hpp>

namespace lowp::detail::inline LOWP_UNIT {

LOWP_EXACT_BEGIN

template <element T>
double gap_at(float x) {
  if constexpr (narrow<T>)
    return as_double(ulp(T(x)));
  else
    return as_double(lanes::is_finite(x) ? step_above<binary32>(lanes::bits(x)) : x);
}
/// Returns twice the smallest update that a storage keeps. If it has several parts, the others are
/// nearly as large as they can be, and so are their gaps.
template <class Layout>
LOWP_OPAQUE double gap_at(Layout const& layout, float x) {
  if constexpr (requires { Layout::working; }) {
    using T = typename Layout::parts::template type<static_cast<std::size_t>(Layout::working)>;
    x += narrowed(0.4375 * gap_at<T>(x));
  }
  return 2 * as_double(least_update<Layout, nearest_even>{layout, 0}(x));
}

/// Returns the distance from the largest magnitude to the next larger value; infinite or NaN if an
/// element is.
template <class P>
double largest_gap(P const& weights) {
  gradient_report const report = measured(weights);
  if (report.nan != 0) return __builtin_nan("");
  float const largest = report.largest.value();
  default_environment const environment;
  if constexpr (layered<P>)
    return gap_at(weights.layout(), largest);
  else
    return gap_at<explicit_of<element_of<P const&>>>(largest);
}

LOWP_EXACT_END

}  // namespace lowp::detail::inline LOWP_UNIT
