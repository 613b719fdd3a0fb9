// SPDX-License-Identifier: Apache-2.0
// Softmax over rows, in float whatever the elements are, so that scores of any size that their format
// holds give finite probabilities.
#pragma once

#include <lowp/exponential.hpp>
#include <lowp/rows.hpp>

#include <tuple>

namespace lowp {

namespace detail {

/// What softmax and log_softmax have in common: d = x - max, and the sum of e^d. A row of nothing but
/// -inf has a sum of 0.
struct shifted_row {
  using folds = std::tuple<fold::maximum, fold::sum>;

  template <class F>
  LOWP_FN static F value(fold::number<0>, F const& x) {
    return x;
  }
  template <class F>
  LOWP_FN static F settled(F const& largest) {
    lanes::word<F> const minus_infinity = lanes::spread<lanes::word<F>>(0xff800000);
    return lanes::select(lanes::equal(lanes::bits(largest), minus_infinity), lanes::spread<F>(0), largest);
  }
};

/// out = e^(x - max) / sum, the quotient as a product with the sum's reciprocal.
struct softmax_rows {
  using folds = std::tuple<fold::maximum, fold::sum>;
  template <class F>
  struct state {
    F largest, factor;
  };

  template <class F>
  LOWP_FN F value(fold::number<0>, state<F> const&, F const& x) const {
    return x;
  }
  template <class F>
  LOWP_FN F value(fold::number<1>, state<F> const& s, F const& x) const {
    return exp_of_minus(lanes::sub(s.largest, x));
  }
  template <int I, class F>
  LOWP_FN F term(fold::number<I>, F const& value) const {
    return value;
  }
  template <class F>
  LOWP_FN void settle(fold::number<0>, state<F>& s, F const& largest) const {
    s.largest = shifted_row::settled(largest);
  }
  template <class F>
  LOWP_FN void settle(fold::number<1>, state<F>& s, F const& sum) const {
    F const reciprocal = lanes::div(lanes::spread<F>(1), sum);
    F const nan = lanes::from_bits<F>(lanes::spread<lanes::word<F>>(lanes::binary32_nan));
    s.factor = lanes::select(lanes::is_zero(sum), sum, reciprocal);
    s.factor = lanes::select(lanes::is_finite(s.largest), s.factor, nan);
  }
  template <class F>
  LOWP_FN F result(state<F> const& s, F const& value) const {
    return lanes::mul(value, s.factor);
  }
};

template <class Where, class In, class Out>
[[nodiscard]] LOWP_HOST_FN problem softmax_on(Where const& where, In&& in, Out&& out, std::size_t columns) {
  must_be_input<In>();
  must_be_output<Out>();
  extent const from("in", in), to("out", out);
  problem wrong = unequal_sizes("softmax", {from, to});
  if (wrong.empty()) wrong = not_rows("softmax", from, columns);
  if (wrong.empty()) wrong = partial_overlap("softmax", from, to);
  if (wrong.empty()) wrong = out_of_reach(where, "softmax", {from, to});
  if (!wrong.empty()) return wrong;
  run_rows(where, softmax_rows{}, std::ranges::data(out), to.size, columns,
           std::tuple(simd::operand<element_of<In>, simd::access::read>{std::ranges::data(in)}));
  return {};
}

}  // namespace detail

template <input In, output Out>
LOWP_HOST_FN void softmax(In&& in, Out&& out, std::size_t columns) {
  detail::refuse_if(detail::softmax_on(simd::this_thread{}, in, out, columns));
}

}  // namespace lowp
