// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/lanes/exponential.hpp>
#include <lowp/ops/transform.hpp>

#include <cstdint>
#include <initializer_list>

namespace lowp::detail {

/// x/2 (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x^3): D. Hendrycks, K. Gimpel, "Gaussian Error
/// Linear Units (GELUs)", arXiv:1606.08415, section 2. It is x / (1 + e^-2u), which takes one exp,
/// computed from |u|, so that neither end cancels: for negative x, e^-2|u| is a factor.
struct gelu_of_tanh {
  template <class F>
  LOWP_FN F operator()(F const& x) const {
    using U = lanes::word<F>;
    constexpr float linear = 0x1.988454p0f, cubic = 0x1.2444f2p-4f;  // 2 sqrt(2/pi); times 0.044715
    constexpr std::uint32_t minus_infinity = lanes::binary32_infinity | lanes::binary32_sign;
    F const a = lanes::from_bits<F>(lanes::hidden(lanes::magnitude(x)));
    F const slope =
        lanes::fma(lanes::mul(a, a), lanes::broadcast<F>(cubic), lanes::broadcast<F>(linear));
    F const e = exp_of_minus(lanes::mul(a, slope));  // 0 if the square is infinite
    // e is 0 there, as for any x below -11; -infinity times 0 would be NaN.
    F const finite =
        lanes::select(lanes::equal(lanes::bits(x), lanes::broadcast<U>(minus_infinity)),
                      lanes::broadcast<F>(-128), x);
    auto const is_negative = lanes::greater(lanes::broadcast<U>(0), lanes::bits(x));
    F const factor = lanes::select(is_negative, lanes::mul(finite, e), x);
    return lanes::div(factor, lanes::add(lanes::broadcast<F>(1), e));
  }
};

/// gelu(gate) * up.
struct gated_gelu_of_tanh {
  template <class F>
  LOWP_FN F operator()(F const& gate, F const& up) const {
    return lanes::mul(gelu_of_tanh{}(gate), up);
  }
};

/// Runs an element function over ranges, the last of which is `out`. Returns the error text of a
/// refused call.
template <class Executor, class Function, class Out, class R, class... In>
[[nodiscard]] LOWP_HOST_FN error_text activation_on(Executor const& executor, char const* name,
                                                    std::initializer_list<extent> ranges,
                                                    Function const& function, Out& out,
                                                    R const& rounding, overflow policy, In&... in) {
  call_check check(name);
  check.element_by_element(executor, ranges);
  if (check.failed()) return check.text();
  executor(make<returned<Function>>{{function}}, std::ranges::size(out),
           static_cast<simd::no_report*>(nullptr),
           simd::operand<element_of<Out>, simd::access::write, R>{std::ranges::data(out), rounding,
                                                                  policy},
           simd::operand<element_of<In>, simd::access::read>{std::ranges::data(in)}...);
  return {};
}

template <class Executor, class In, class Out, class R = nearest_even>
[[nodiscard]] LOWP_HOST_FN error_text
gelu_tanh_on(Executor const& executor, In&& in, Out&& out, R rounding = {},
             overflow policy = default_overflow<element_of<Out>>) {
  return activation_on(executor, "gelu_tanh", {extent("in", in), extent("out", out)},
                       gelu_of_tanh{}, out, rounding, policy, in);
}
template <class Executor, class Gate, class Up, class Out, class R = nearest_even>
[[nodiscard]] LOWP_HOST_FN error_text
gated_gelu_tanh_on(Executor const& executor, Gate&& gate, Up&& up, Out&& out, R rounding = {},
                   overflow policy = default_overflow<element_of<Out>>) {
  return activation_on(executor, "gated_gelu_tanh",
                       {extent("gate", gate), extent("up", up), extent("out", out)},
                       gated_gelu_of_tanh{}, out, rounding, policy, gate, up);
}

}  // namespace lowp::detail
