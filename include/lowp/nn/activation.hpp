// SPDX-License-Identifier: Apache-2.0
// The operations of each activation: NAME, gated_NAME, NAME_backward, gated_NAME_backward.
#pragma once

#include <lowp/nn/activation_functions.hpp>
#include <lowp/ops/transform.hpp>

namespace lowp::detail {

/// The function that takes least time for arguments of type T: squares of 16 bits are exact.
template <class Activation, class T>
using form_for =
    std::conditional_t<std::is_base_of_v<gelu_function, Activation> && one_of<T, bfloat16, float16>,
                       symmetric_activation<left_of_gelu<true>>, Activation>;

/// Returns its result, which waits for a division: a kernel rounds it late.
template <class Function>
struct long_function : returned<Function> {
  static constexpr bool is_long = true;
};

template <class Activation>
struct gated {
  LOWP_FN auto operator()(auto const& gate, auto const& up) const {
    return lanes::mul(Activation{}(gate), up);
  }
};

template <class Activation>
struct activation_backward {
  LOWP_FN auto operator()(auto const& x, auto const& dy) const {
    return lanes::mul(dy, Activation::with_slope(x).slope);
  }
};

template <class Activation>
struct gated_backward {
  template <class F>
  LOWP_FN void operator()(F const& gate, F const& up, F const& dy, F& dgate, F& dup) const {
    activated<F> const at = Activation::with_slope(gate);
    dgate = lanes::mul(lanes::mul(dy, at.slope), up);
    dup = lanes::mul(dy, at.value);
  }
};

/// Computes out[i] = round(f(in[i])), f of nn/activation_functions.hpp.
///
/// The result is finite for every finite x, and its magnitude is at most |x|. Infinity gives
/// infinity, and -infinity gives -0, its limit.
template <class Activation, class Executor>
struct activation_operation : operation<Executor> {
  using calls =
      call<needs_input<names::in>, needs_output<names::out>, may_have_rounding_then_policy>;

  template <input In, output Out, range_rounding R = nearest_even>
  LOWP_HOST_FN void operator()(In&& in, Out&& out, R rounding = {},
                               overflow policy = default_overflow<element_of<Out>>) const {
    run(this->executor, Activation::name_of_value,
        make<long_function<form_for<Activation, element_of<In>>>>{}, no_report,
        write("out", out, rounding, policy), read("in", in));
  }
};

/// Computes out[i] = round(f(gate[i]) * up[i]), with one product in float: GEGLU and SwiGLU of N.
/// Shazeer, "GLU Variants Improve Transformer", arXiv:2002.05202. In T5 v1.1 and FLAN-T5, f is
/// gelu_tanh, gate = wi_0 x and up = wi_1 x. In Llama f is silu.
template <class Activation, class Executor>
struct gated_operation : operation<Executor> {
  using calls = call<needs_input<names::gate>, needs_input<names::up>, needs_output<names::out>,
                     may_have_rounding_then_policy>;

  template <input Gate, input Up, output Out, range_rounding R = nearest_even>
  LOWP_HOST_FN void operator()(Gate&& gate, Up&& up, Out&& out, R rounding = {},
                               overflow policy = default_overflow<element_of<Out>>) const {
    run(this->executor, Activation::name_of_gated,
        make<long_function<gated<form_for<Activation, element_of<Gate>>>>>{}, no_report,
        write("out", out, rounding, policy), read("gate", gate), read("up", up));
  }
};

/// Computes dx[i] = round(dy[i] * f'(x[i])), the derivative. f' is 1 at inf and 0 at -inf. dy is
/// the derivative with respect to f(x).
template <class Activation, class Executor>
struct activation_backward_operation : operation<Executor> {
  using calls = call<needs_input<names::x>, needs_input<names::dy>, needs_output<names::dx>,
                     may_have_rounding_then_policy>;

  template <input X, input Dy, output Dx, range_rounding R = nearest_even>
  LOWP_HOST_FN void operator()(X&& x, Dy&& dy, Dx&& dx, R rounding = {},
                               overflow policy = default_overflow<element_of<Dx>>) const {
    run(this->executor, Activation::name_of_backward,
        make<long_function<activation_backward<form_for<Activation, element_of<X>>>>>{}, no_report,
        write("dx", dx, rounding, policy), read("x", x), read("dy", dy));
  }
};

/// Computes the derivatives of a gated activation:
///
///     dgate[i] = round(dy[i] * f'(gate[i]) * up[i])
///     dup[i]   = round(dy[i] * f(gate[i]))
///
/// Products are taken from the left. Stochastic rounding draws differently for the two results.
/// Without a policy, each result has the default of its own format.
template <class Activation, class Executor>
struct gated_backward_operation : operation<Executor> {
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
    run(this->executor, Activation::name_of_gated_backward,
        make<gated_backward<form_for<Activation, element_of<Gate>>>>{}, no_report,
        read("gate", gate), read("up", up), read("dy", dy),
        write("dgate", dgate, rounding, policy...), second);
  }
};

#define LOWP_OF_THIS_ACTIVATION(name, ...)                                                      \
  struct name##_activation : name##_function {                                                  \
    static constexpr char const *name_of_value = #name, *name_of_gated = "gated_" #name,        \
                                *name_of_backward = #name "_backward",                          \
                                *name_of_gated_backward = "gated_" #name "_backward";           \
  };                                                                                            \
  template <class Executor>                                                                     \
  using name##_operation = activation_operation<name##_activation, Executor>;                   \
  template <class Executor>                                                                     \
  using gated_##name##_operation = gated_operation<name##_activation, Executor>;                \
  template <class Executor>                                                                     \
  using name##_backward_operation = activation_backward_operation<name##_activation, Executor>; \
  template <class Executor>                                                                     \
  using gated_##name##_backward_operation = gated_backward_operation<name##_activation, Executor>;
LOWP_ACTIVATIONS(LOWP_OF_THIS_ACTIVATION)
#undef LOWP_OF_THIS_ACTIVATION

}  // namespace lowp::detail

/// The operations of an activation, for lists.
#define LOWP_FOUR_OF_ACTIVATION(name, X) \
  X(name) X(gated_##name) X(name##_backward) X(gated_##name##_backward)

LOWP_ACTIVATIONS(LOWP_FOUR_OF_ACTIVATION, LOWP_ON_THIS_THREAD)

namespace lowp::simd {

template <class T>
using compiled_source = operand<T, access::read>;
template <class T>
using compiled_result = operand<T, access::write, nearest_even>;
template <class Function, class T, class... Source>
using compiled_function =
    compiled_elements<detail::make<detail::long_function<Function>>, no_report, compiled_result<T>,
                      compiled_source<T>, Source...>;

#define LOWP_COMPILED_FORM(name, T) detail::form_for<detail::name##_activation, T>
#define LOWP_COMPILED_ACTIVATION(name, T)                                                         \
  LOWP_COMPILED_CALL(name, compiled_function<LOWP_COMPILED_FORM(name, T), T>)                     \
  LOWP_COMPILED_CALL(                                                                             \
      name, compiled_function<detail::gated<LOWP_COMPILED_FORM(name, T)>, T, compiled_source<T>>) \
  LOWP_COMPILED_CALL(name##_backward,                                                             \
                     compiled_function<detail::activation_backward<LOWP_COMPILED_FORM(name, T)>,  \
                                       T, compiled_source<T>>)                                    \
  LOWP_COMPILED_CALL(                                                                             \
      name##_backward,                                                                            \
      compiled_elements<detail::make<detail::gated_backward<LOWP_COMPILED_FORM(name, T)>>,        \
                        no_report, compiled_source<T>, compiled_source<T>, compiled_source<T>,    \
                        compiled_result<T>, compiled_result<T>>)
LOWP_COMPILED_ACTIVATIONS(LOWP_COMPILED_ACTIVATION)
#undef LOWP_COMPILED_ACTIVATION
#undef LOWP_COMPILED_FORM

}  // namespace lowp::simd
