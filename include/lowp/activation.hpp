// SPDX-License-Identifier: Apache-2.0
// GELU in its tanh form. It cubes its argument: in float16 the cube is infinite beyond 40. Here no
// intermediate value leaves the range of float.
#pragma once

#include <lowp/nn/gelu.hpp>

namespace lowp {

namespace detail {

/// Computes out[i] = round(gelu(in[i])), gelu(x) = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
/// PyTorch calls it approximate='tanh', T5 gelu_new.
///
/// The result is finite for every finite x, and its magnitude is at most |x|. Infinity gives
/// infinity. -infinity gives -0, its limit; the formula itself has infinity times 0 there. g is the
/// result before its rounding to the format of `out`. If x is positive, g is within 2 units in the
/// last place. If x is negative, it is within |g| 2^-24 (4 + 3 y) + 2^-145, with
/// y = |2 sqrt(2/pi) (x + 0.044715 x^3)|: one rounding of y costs as much.
///
/// @param in   n elements
/// @param out  n elements; may be the storage of `in` if elements have equal size
/// @throws std::invalid_argument  sizes differ, or the ranges overlap in another way
template <class Executor>
struct gelu_tanh_operation : operation<Executor> {
  using calls =
      call<needs_input<names::in>, needs_output<names::out>, may_have_rounding_then_policy>;

  template <input In, output Out, range_rounding R = nearest_even>
  LOWP_HOST_FN void operator()(In&& in, Out&& out, R rounding = {},
                               overflow policy = default_overflow<element_of<Out>>) const {
    this->executor.refuse_if(gelu_tanh_on(this->executor, in, out, rounding, policy));
  }
};

/// Computes out[i] = round(gelu(gate[i]) * up[i]), gelu as above and one product in float. T5 v1.1
/// and FLAN-T5 call it gated-gelu: their DenseReluDense has gate = wi_0 x and up = wi_1 x.
///
/// @param gate, up  n elements each
/// @param out       n elements; may be the storage of one of them if elements have equal size
/// @throws std::invalid_argument  sizes differ, or the ranges overlap in another way
template <class Executor>
struct gated_gelu_tanh_operation : operation<Executor> {
  using calls = call<needs_input<names::gate>, needs_input<names::up>, needs_output<names::out>,
                     may_have_rounding_then_policy>;

  template <input Gate, input Up, output Out, range_rounding R = nearest_even>
  LOWP_HOST_FN void operator()(Gate&& gate, Up&& up, Out&& out, R rounding = {},
                               overflow policy = default_overflow<element_of<Out>>) const {
    this->executor.refuse_if(gated_gelu_tanh_on(this->executor, gate, up, out, rounding, policy));
  }
};

}  // namespace detail

inline constexpr detail::callable<detail::gelu_tanh_operation<simd::this_thread>> gelu_tanh{};
inline constexpr detail::callable<detail::gated_gelu_tanh_operation<simd::this_thread>>
    gated_gelu_tanh{};

}  // namespace lowp
