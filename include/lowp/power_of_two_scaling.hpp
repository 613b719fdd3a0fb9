// SPDX-License-Identifier: Apache-2.0
// A projection whose result leaves a format's range, kept in it by a power of two:
//
//     y = 2^k (W (2^-k x))
//
//     int const k = projection_exponent<float16>(measure(y_in_float).largest);   // once, of a sample
//     scaling_report lost;
//     scale_by_power_of_two(x, small, -k, lost);      // float16
//     multiply(w, small, y);                          // the caller's, float16 in and out
//     scale_by_power_of_two(y, residual, k);          // float, or bfloat16: the wider stream
//
// Only exponents change on the way, so y is what it would be in a float16 with more exponents: to the bit,
// if `lost` says that no element of x was subnormal.
#pragma once

#include <lowp/nn/power_of_two_scaling.hpp>

namespace lowp {

namespace detail {

/// Multiplies: out[i] = in[i] * 2^exponent, rounded to nearest even once. The product is exact unless it is
/// below 2^-126 for a float, below the normal range of the format of `out`, or `out` has fewer bits.
///
/// @param in        n elements
/// @param out       n elements; may be the storage of `in` if elements have equal size
/// @param exponent  from -126 to 126
/// @param report    optional: adds to it how many elements overflowed, and how many were not exact
/// @throws std::invalid_argument  an exponent out of that range; sizes differ, or the ranges overlap in
///                                another way
template <class Executor>
struct scale_by_power_of_two_operation : operation<Executor> {
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

inline constexpr detail::scale_by_power_of_two_operation<simd::this_thread> scale_by_power_of_two{};

}  // namespace lowp
