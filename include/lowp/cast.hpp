// SPDX-License-Identifier: Apache-2.0
// cast: conversion of spans.
#pragma once

#include <lowp/ops/cast.hpp>

namespace lowp {

namespace detail {

/// Converts: out[i] = round(in[i]), each element rounded once from its exact value.
///
/// A cast to the same format copies bits. A NaN keeps its sign, and its leading payload bits as far
/// as the format has them. `stochastic` does not change a float that becomes float or double.
///
/// @param in   n elements: float, a narrow type, double, or integers of 8 to 64 bits
/// @param out  n elements: float, a narrow type, or double, which takes no integers; may be the
///             storage of `in` if elements have equal size
/// @throws std::invalid_argument  sizes differ, or the ranges overlap in another way
template <class Executor>
struct cast_operation : operation<Executor> {
  using calls = call_unless<
      because_integers_become_float_or_narrow_and_a_policy_follows_the_rounding,
      needs<names::in,
            not_a_range_of_float_narrow_double_or_integers_such_as_std_span_x_data_x_size>,
      needs<names::out,
            not_a_lasting_writable_range_of_float_narrow_or_double_such_as_std_span_x_data_x_size>,
      may_have_rounding_then_policy>;

  template <class In, class Out, range_rounding R = nearest_even>
    requires castable<In, Out>
  LOWP_HOST_FN void operator()(In&& in, Out&& out, R rounding = {},
                               overflow policy = default_overflow<element_of<Out>>) const {
    this->executor.refuse_if(cast_on(this->executor, in, out, rounding, policy));
  }
};

}  // namespace detail

inline constexpr detail::callable<detail::cast_operation<simd::this_thread>> cast{};

}  // namespace lowp
