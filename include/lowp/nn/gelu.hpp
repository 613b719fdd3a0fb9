// SPDX-License-Identifier: Apache-2.0
// GELU in its tanh form. It cubes its argument: in float16 the cube is infinite beyond 40. Here no
// intermediate value leaves the range of float.
#pragma once

#include <lowp/lanes/exponential.hpp>
#include <lowp/ops/transform.hpp>

#include <cstdint>

namespace lowp::detail {

/// The polynomial 2 sqrt(2/pi) (x + 0.044715 x^3), and its derivative.
inline constexpr float gelu_linear = 0x1.988454p0f, gelu_cubic = 0x1.2444f2p-4f,
                       gelu_three_cubic = 0x1.b6676cp-3f;

/// x/2 (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x^3): D. Hendrycks, K. Gimpel, "Gaussian Error
/// Linear Units (GELUs)", arXiv:1606.08415, section 2. It is x / (1 + e^-2u), which takes one exp,
/// computed from |u|, so that neither end cancels: for negative x, e^-2|u| is a factor.
struct gelu_of_tanh {
  template <class F>
  LOWP_FN F operator()(F const& x) const {
    using namespace lanes;
    using U = word<F>;
    constexpr std::uint32_t minus_infinity = binary32_infinity | binary32_sign;
    F const a = from_bits<F>(hidden(lanes::magnitude(x)));
    F const slope = fma(mul(a, a), broadcast<F>(gelu_cubic), broadcast<F>(gelu_linear));
    F const e = exp_of_minus(mul(a, slope));  // 0 if the square is infinite
    // e is 0 there, as for any x below -11; -infinity times 0 would be NaN.
    F const finite = select(equal(bits(x), broadcast<U>(minus_infinity)), broadcast<F>(-128), x);
    F const factor = select(greater(broadcast<U>(0), bits(x)), mul(finite, e), x);
    return div(factor, add(broadcast<F>(1), e));
  }
};

struct gated_gelu_of_tanh {
  template <class F>
  LOWP_FN F operator()(F const& gate, F const& up) const {
    return lanes::mul(gelu_of_tanh{}(gate), up);
  }
};

/// Computes out[i] = round(gelu(in[i])), gelu(x) = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
/// PyTorch calls it approximate='tanh', T5 gelu_new.
///
/// The result is finite for every finite x, and its magnitude is at most |x|. Infinity gives
/// infinity, and -infinity gives -0, its limit. g is the result before its rounding to the format
/// of `out`. If x is positive, g is within 2 units in the last place. If x is negative, it is
/// within |g| 2^-24 (4 + 3 y) + 2^-145, with y = |2 sqrt(2/pi) (x + 0.044715 x^3)|.
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
    run(this->executor, "gelu_tanh", make<returned<gelu_of_tanh>>{}, no_report,
        write("out", out, rounding, policy), read("in", in));
  }
};

/// Computes out[i] = round(gelu(gate[i]) * up[i]), gelu as above and one product in float. T5 v1.1
/// and FLAN-T5 call it gated-gelu: their DenseReluDense has gate = wi_0 x and up = wi_1 x.
///
/// @param gate, up, out  n elements each, otherwise as for gelu_tanh
template <class Executor>
struct gated_gelu_tanh_operation : operation<Executor> {
  using calls = call<needs_input<names::gate>, needs_input<names::up>, needs_output<names::out>,
                     may_have_rounding_then_policy>;

  template <input Gate, input Up, output Out, range_rounding R = nearest_even>
  LOWP_HOST_FN void operator()(Gate&& gate, Up&& up, Out&& out, R rounding = {},
                               overflow policy = default_overflow<element_of<Out>>) const {
    run(this->executor, "gated_gelu_tanh", make<returned<gated_gelu_of_tanh>>{}, no_report,
        write("out", out, rounding, policy), read("gate", gate), read("up", up));
  }
};

}  // namespace lowp::detail

namespace lowp {
inline constexpr detail::callable<detail::gelu_tanh_operation<simd::this_thread>> gelu_tanh{};
inline constexpr detail::callable<detail::gated_gelu_tanh_operation<simd::this_thread>>
    gated_gelu_tanh{};
}  // namespace lowp
