// SPDX-License-Identifier: Apache-2.0
// The derivatives of gelu_tanh and gated_gelu_tanh.
#pragma once

#include <lowp/nn/gelu.hpp>

#include <concepts>

namespace lowp::detail {

/// gelu(x) = x s and its derivative, s + x y' s (1 - s): see gelu_tanh_backward. Both take one exp,
/// of -|y|, so that neither end cancels. Beyond 16 it is 0, and no square is large.
template <class F>
struct gelu_and_slope {
  F gelu, slope;

  LOWP_FN explicit gelu_and_slope(F const& x) {
    using namespace lanes;
    F const one = broadcast<F>(1);
    F const a = smaller_or_nan(from_bits<F>(hidden(lanes::magnitude(x))), broadcast<F>(16));
    F const square = mul(a, a);
    F const e =
        exp_of_minus(mul(a, fma(square, broadcast<F>(gelu_cubic), broadcast<F>(gelu_linear))));
    F const r = div(one, add(one, e));
    auto const is_negative = greater(broadcast<word<F>>(0), bits(x));
    F const s = mul(select(is_negative, e, one), r);
    F const growth = mul(a, fma(square, broadcast<F>(gelu_three_cubic), broadcast<F>(gelu_linear)));
    F const rest = mul(mul(e, r), mul(growth, r));
    gelu = mul(select(is_negative, negative(a), x), s);
    slope = add(s, select(is_negative, negative(rest), rest));
  }
};

struct gelu_of_tanh_backward {
  LOWP_FN auto operator()(auto const& x, auto const& dy) const {
    return lanes::mul(dy, gelu_and_slope(x).slope);
  }
};

struct gated_gelu_of_tanh_backward {
  template <class F>
  LOWP_FN void operator()(F const& gate, F const& up, F const& dy, F& dgate, F& dup) const {
    gelu_and_slope<F> const at(gate);
    dgate = lanes::mul(lanes::mul(dy, at.slope), up);
    dup = lanes::mul(dy, at.gelu);
  }
};

/// Computes dx[i] = round(dy[i] * gelu'(x[i])), the derivative of gelu_tanh.
///
/// Before its rounding to the format of `dx`, the result is within
///
///     |dy| (2^-24 G (7 + 3 |y|) + 2^-141) + 2^-150,   G = s + |x y'| s (1 - s)
///     s = 1 / (1 + e^-y),   y = 2 sqrt(2/pi) (x + 0.044715 x^3)
///
/// of the exact one. The terms of gelu' cancel near x = -0.75. It is 1 at inf and 0 at -inf.
///
/// @param x, dy, dx  n elements each, otherwise as for gelu_tanh; dy is the derivative with respect
///                   to its result
template <class Executor>
struct gelu_tanh_backward_operation : operation<Executor> {
  using calls = call<needs_input<names::x>, needs_input<names::dy>, needs_output<names::dx>,
                     may_have_rounding_then_policy>;

  template <input X, input Dy, output Dx, range_rounding R = nearest_even>
  LOWP_HOST_FN void operator()(X&& x, Dy&& dy, Dx&& dx, R rounding = {},
                               overflow policy = default_overflow<element_of<Dx>>) const {
    run(this->executor, "gelu_tanh_backward", make<returned<gelu_of_tanh_backward>>{}, no_report,
        write("dx", dx, rounding, policy), read("x", x), read("dy", dy));
  }
};

/// Computes the derivatives of gated_gelu_tanh:
///
///     dgate[i] = round(dy[i] * gelu'(gate[i]) * up[i])
///     dup[i]   = round(dy[i] * gelu(gate[i]))
///
/// Products are taken from the left. Before the rounding to its format, dgate is within |up| times
/// the bound of gelu_tanh_backward, and 2^-24 |dgate| + 2^-150 more. dup is within
/// 2^-24 |dup| (7 + 3 |y|) + 2^-145 |dy| + 2^-150.
///
/// Stochastic rounding draws differently for the two results. Without a policy, each result has the
/// default of its own format.
///
/// @param gate, up, dy, dgate, dup  n elements each, otherwise as for gelu_tanh
template <class Executor>
struct gated_gelu_tanh_backward_operation : operation<Executor> {
  using calls =
      call<needs_input<names::gate>, needs_input<names::up>, needs_input<names::dy>,
           needs_output<names::dgate>, needs_output<names::dup>, may_have_rounding_then_policy>;

  template <input Gate, input Up, input Dy, output Dgate, output Dup,
            range_rounding R = nearest_even, std::same_as<overflow>... Policy>
    requires(sizeof...(Policy) <= 1)
  LOWP_HOST_FN void operator()(Gate&& gate, Up&& up, Dy&& dy, Dgate&& dgate, Dup&& dup,
                               R rounding = {}, Policy... policy) const {
    auto second = write("dup", dup, rounding, policy...);
    second.draw = 1;
    run(this->executor, "gated_gelu_tanh_backward", make<gated_gelu_of_tanh_backward>{}, no_report,
        read("gate", gate), read("up", up), read("dy", dy),
        write("dgate", dgate, rounding, policy...), second);
  }
};

}  // namespace lowp::detail

namespace lowp {
inline constexpr detail::callable<detail::gelu_tanh_backward_operation<simd::this_thread>>
    gelu_tanh_backward{};
inline constexpr detail::callable<detail::gated_gelu_tanh_backward_operation<simd::this_thread>>
    gated_gelu_tanh_backward{};
}  // namespace lowp
