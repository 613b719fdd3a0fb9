// SPDX-License-Identifier: Apache-2.0
// The derivatives of softmax, log_softmax and scale_mask_softmax, from the forward pass's results.
#pragma once

#include <lowp/lanes/exponential.hpp>
#include <lowp/nn/rows.hpp>

namespace lowp::detail {

/// Halves of dy have differences in the range of float. A masked score, of y = 0, takes no part.
template <bool IsMasked>
struct softmax_backward_rows {
  using folds = std::tuple<fold::sum>;
  static constexpr bool uses_scores = true;
  template <class F>
  struct state {
    F half_sum;
  };

  float scale = 1;

  [[nodiscard]] LOWP_HOST_FN error_text check(char const* function, row_extent const&) const {
    return check_numbers(function, {{"scale", scale, not_zero}});
  }
  template <class F>
  LOWP_FN F value(fold::number<0>, state<F> const&, F const& y, F const& dy) const {
    return if_seen(y, lanes::mul(lanes::mul(dy, lanes::broadcast<F>(0.5f)), y));
  }
  LOWP_FN auto term(fold::number<0>, auto const& value) const { return value; }
  LOWP_FN void take_total(fold::number<0>, auto& s, auto const& sum) const { s.half_sum = sum; }
  template <class F>
  LOWP_FN F result(state<F> const& s, F const& y, F const& dy) const {
    F const half = lanes::fma(dy, lanes::broadcast<F>(0.5f), lanes::negative(s.half_sum));
    F const dx = lanes::mul(lanes::add(y, y), half);
    if constexpr (!IsMasked) return dx;
    return if_seen(y, lanes::mul(dx, lanes::broadcast<F>(scale)));
  }

 private:
  template <class F>
  LOWP_FN static F if_seen(F const& y, F const& x) {
    if constexpr (!IsMasked) return x;
    return lanes::select(lanes::is_zero(y), lanes::broadcast<F>(0), x);
  }
};

/// A row whose sum is not finite is folded again with a scale.
struct log_softmax_backward_rows {
  using folds = std::tuple<fold::sum>;
  static constexpr bool uses_scores = true;
  static constexpr float tiny = 0x1p-64f, large = 0x1p64f;
  template <class F>
  struct state {
    bool is_scaled = false;
    F sum;
  };

  template <class F>
  LOWP_FN F value(fold::number<0>, state<F> const& s, F const&, F const& dy) const {
    return s.is_scaled ? lanes::mul(dy, lanes::broadcast<F>(tiny)) : dy;
  }
  LOWP_FN auto term(fold::number<0>, auto const& value) const { return value; }
  LOWP_FN bool take_total(fold::number<0>, auto& s, auto const& sum) const {
    s.sum = sum;
    if (s.is_scaled || !lanes::any(lanes::mask_not(lanes::is_finite(sum)))) return false;
    return s.is_scaled = true;
  }
  template <class F>
  LOWP_FN F result(state<F> const& s, F const& y, F const& dy) const {
    F const minus_p = lanes::mul(exp_of_minus(lanes::absolute(y)),
                                 lanes::broadcast<F>(s.is_scaled ? -large : -1.0f));
    return lanes::fma(minus_p, s.sum, dy);
  }
};

template <class Executor, bool IsLog>
struct softmax_backward_call : operation<Executor> {
  using calls = call<needs_row_input<names::y>, needs_row_input<names::dy>,
                     needs_row_output<names::dx>, needs_number<names::columns>>;
  using rows = std::conditional_t<IsLog, log_softmax_backward_rows, softmax_backward_rows<false>>;

  LOWP_HOST_FN void operator()(row_input auto&& y, row_input auto&& dy, row_output auto&& dx,
                               std::size_t columns) const {
    run_rows(this->executor, IsLog ? "log_softmax_backward" : "softmax_backward", rows{},
             read_rows("y", y, columns), read_rows("dy", dy, columns),
             write_rows("dx", dx, columns));
  }
};

/// Computes dx = y * (dy - sum of dy * y) over each row: the derivative of softmax, whose result is
/// y. It is rounded once to nearest even.
///
/// If y holds probabilities, no intermediate value leaves the range of float, whatever dy is. NaN
/// and infinity reach their row.
///
/// @param y   results of softmax
/// @param dy  the derivative with respect to y
template <class Executor>
using softmax_backward_operation = softmax_backward_call<Executor, false>;

/// Computes dx = dy - e^y * sum of dy over each row, the derivative of log_softmax, otherwise as
/// softmax_backward. The sum of |dy| may exceed the range of float. No y is above 0. Where y is
/// -inf, dx is dy.
template <class Executor>
using log_softmax_backward_operation = softmax_backward_call<Executor, true>;

/// Computes dx = scale * y * (dy - sum of dy * y) over each row, the derivative of
/// scale_mask_softmax, otherwise as softmax_backward. It needs no mask: where y is 0, dx is 0, and
/// dy may be anything.
///
/// @param scale  that of the forward pass, finite and not 0
template <class Executor>
struct scale_mask_softmax_backward_operation : operation<Executor> {
  using calls =
      call<needs_row_input<names::y>, needs_row_input<names::dy>, needs_row_output<names::dx>,
           needs_number<names::columns>, needs_number<names::scale>>;

  LOWP_HOST_FN void operator()(row_input auto&& y, row_input auto&& dy, row_output auto&& dx,
                               std::size_t columns, float_argument scale) const {
    run_rows(this->executor, "scale_mask_softmax_backward",
             softmax_backward_rows<true>{scale.value}, read_rows("y", y, columns),
             read_rows("dy", dy, columns), write_rows("dx", dx, columns));
  }
};

}  // namespace lowp::detail

LOWP_ON_THIS_THREAD(softmax_backward)
LOWP_ON_THIS_THREAD(log_softmax_backward)
LOWP_ON_THIS_THREAD(scale_mask_softmax_backward)

namespace lowp::simd {
#define LOWP_COMPILED_SOFTMAX(part, T)                                                 \
  LOWP_COMPILED_CALL(                                                                  \
      part##_backward,                                                                 \
      compiled_row_derivative<detail::softmax_backward_rows<false>, T, access::write>) \
  LOWP_COMPILED_CALL(                                                                  \
      part##_backward,                                                                 \
      compiled_row_derivative<detail::softmax_backward_rows<true>, T, access::write>)  \
  LOWP_COMPILED_CALL(part##_backward,                                                  \
                     compiled_row_derivative<detail::log_softmax_backward_rows, T, access::write>)
LOWP_COMPILED_SOFTMAXES(LOWP_COMPILED_SOFTMAX)
#undef LOWP_COMPILED_SOFTMAX
}  // namespace lowp::simd
