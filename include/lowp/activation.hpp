// SPDX-License-Identifier: Apache-2.0
// GELU in its tanh form, which cubes its argument: float16 is infinite there beyond 40. Here nothing on
// the way leaves the range of float.
#pragma once

#include <lowp/nn/gelu.hpp>

namespace lowp {

namespace detail {

/// Computes out[i] = round(gelu(in[i])), gelu(x) = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), which PyTorch
/// calls approximate='tanh' and T5 gelu_new.
///
/// The result is finite for every finite x, and never of greater magnitude than x. Infinity gives infinity,
/// -infinity gives -0, its limit; the formula itself has infinity times 0 there. Before it is rounded to the
/// format of `out` the result g is within 2 units in the last place if x is positive. If x is negative, it
/// is within |g| 2^-24 (4 + 3 y) + 2^-145, with y = |2 sqrt(2/pi) (x + 0.044715 x^3)|: rounding y once is as
/// much.
///
/// @param in   n elements
/// @param out  n elements; may be the storage of `in` if elements have equal size
/// @throws std::invalid_argument  sizes differ, or the ranges overlap in another way
template <class Executor>
struct gelu_tanh_operation : operation<Executor> {
  template <input In, output Out, range_rounding R = nearest_even>
  LOWP_HOST_FN void operator()(In&& in, Out&& out, R rounding = {},
                               overflow policy = default_overflow<element_of<Out>>) const {
    this->executor.refuse_if(gelu_tanh_on(this->executor, in, out, rounding, policy));
  }
};

/// Computes out[i] = round(gelu(gate[i]) * up[i]): the gated-gelu of T5 v1.1 and FLAN-T5, whose DenseReluDense has
/// gate = wi_0 x and up = wi_1 x. The product is one multiplication in float with gelu as above.
///
/// @param gate, up  n elements each
/// @param out       n elements; may be the storage of one of them if elements have equal size
/// @throws std::invalid_argument  sizes differ, or the ranges overlap in another way
template <class Executor>
struct gated_gelu_tanh_operation : operation<Executor> {
  template <input Gate, input Up, output Out, range_rounding R = nearest_even>
  LOWP_HOST_FN void operator()(Gate&& gate, Up&& up, Out&& out, R rounding = {},
                               overflow policy = default_overflow<element_of<Out>>) const {
    this->executor.refuse_if(gated_gelu_tanh_on(this->executor, gate, up, out, rounding, policy));
  }
};

}  // namespace detail

inline constexpr detail::gelu_tanh_operation<simd::this_thread> gelu_tanh{};
inline constexpr detail::gated_gelu_tanh_operation<simd::this_thread> gated_gelu_tanh{};

}  // namespace lowp
