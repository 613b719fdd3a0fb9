// SPDX-License-Identifier: Apache-2.0
// A projection whose result leaves the range of a format. A power of two keeps it inside:
//
//     y = 2^k (W (2^-k x))
//
//     int const k = projection_exponent<float16>(measure(y_sample).largest);  // once, in float
//     scaling_report lost;
//     scale_by_power_of_two(x, small, -k, lost);      // float16
//     multiply(w, small, y);                          // the caller's, float16 in and out
//     scale_by_power_of_two(y, residual, k);          // float, or bfloat16: the wider stream
//
// Only exponents change on the way. y is what a float16 with more exponents would give: to the bit,
// if `lost` says that no element of x was subnormal.
#pragma once

#include <lowp/nn/power_of_two_scaling.hpp>

namespace lowp {

namespace detail {

/// Multiplies: out[i] = in[i] * 2^exponent, rounded once to nearest even. The product is exact,
/// unless `out` has fewer bits or no normal number as small, or it is below 2^-126.
///
/// @param in        n elements
/// @param out       n elements; may be the storage of `in` if elements have equal size
/// @param exponent  from -126 to 126
/// @param report    optional; the call adds the numbers of overflowed and of inexact elements
/// @throws std::invalid_argument  the exponent is out of range, sizes differ, or the ranges overlap
///                                in another way
template <class Executor>
struct scale_by_power_of_two_operation : operation<Executor> {
  using calls = call<needs_input<names::in>, needs_output<names::out>,
                     needs_number<names::exponent>, may_have_report<scaling_report>>;

  template <input In, output Out>
  LOWP_HOST_FN void operator()(In&& in, Out&& out, int exponent) const {
    this->executor.refuse_if(power_of_two_on(this->executor, in, out, exponent));
  }
  template <input In, output Out>
    requires census_target<element_of<Out>>
  LOWP_HOST_FN void operator()(In&& in, Out&& out, int exponent, scaling_report& report) const {
    this->executor.refuse_if(power_of_two_on(this->executor, in, out, exponent, report));
  }
};

}  // namespace detail

inline constexpr detail::callable<detail::scale_by_power_of_two_operation<simd::this_thread>>
    scale_by_power_of_two{};

}  // namespace lowp
