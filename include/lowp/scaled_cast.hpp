// SPDX-License-Identifier: Apache-2.0
// scaled_cast: conversion of spans with one scale for all elements.
#pragma once

#include <lowp/ops/scaled_cast.hpp>

namespace lowp {

namespace detail {

/// Converts with a scale: out[i] = round(in[i] * scale). One multiplication in float, rounded to
/// nearest even, then one rounding to the format of `out`. The product is exact if the scale is a
/// power of two and the product normal. A NaN result is the canonical one.
///
/// @param in       n elements
/// @param out      n elements; may be the storage of `in` if elements have equal size
/// @param scale    finite and not 0
/// @param largest  optional; merges the largest |in[i]| in the same pass
/// @throws std::invalid_argument  `scale` is infinite, NaN or 0, sizes differ, or ranges overlap in
///                                another way
template <class Executor>
struct scaled_cast_operation : operation<Executor> {
  using calls = call<needs_input<names::in>, needs_output<names::out>,
                     needs<names::scale, not_a_number_to_scale_by>,
                     may_have<3, names::largest_rounding_or_overflow,
                              neither_an_amax_a_rounding_mode_of_ranges_nor_an_overflow_policy>>;

  template <input In, output Out, number_argument Scale, range_rounding R = nearest_even>
  LOWP_HOST_FN void operator()(In&& in, Out&& out, Scale scale, R rounding = {},
                               overflow policy = default_overflow<element_of<Out>>) const {
    this->executor.refuse_if(
        scaled_cast_on(this->executor, in, out, make_scaling{as_number(scale)}, rounding, policy));
  }
  template <input In, output Out, number_argument Scale, range_rounding R = nearest_even>
  LOWP_HOST_FN void operator()(In&& in, Out&& out, Scale scale, amax& largest, R rounding = {},
                               overflow policy = default_overflow<element_of<Out>>) const {
    this->executor.refuse_if(scaled_cast_on(this->executor, in, out, make_scaling{as_number(scale)},
                                            largest, rounding, policy));
  }
};

}  // namespace detail

inline constexpr detail::callable<detail::scaled_cast_operation<simd::this_thread>> scaled_cast{};

}  // namespace lowp
