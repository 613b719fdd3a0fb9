// SPDX-License-Identifier: Apache-2.0
// Softmax over the rows of a matrix, in float: finite for all finite scores, however far apart. Its
// derivatives, and that of scale_mask_softmax, take the forward pass's results.
#pragma once

#include <lowp/lanes/exponential.hpp>
#include <lowp/nn/rows.hpp>
#include <lowp/storage/layout.hpp>

namespace lowp::detail {

struct plain_score {
  LOWP_FN auto operator()(auto const& x) const { return x; }
};

/// d = max - score, and the sum of e^-d. If every score is -inf, the maximum is taken as 0: each d
/// is infinite and the sum 0. A NaN score, or +inf - +inf, makes d NaN, and then the sum. The
/// result is e^-d / sum, as a product with the sum's reciprocal; or -d - ln(sum).
template <class Score, bool IsLog = false>
struct softmax_rows {
  using folds = std::tuple<fold::maximum, fold::sum>;
  template <class F>
  struct state {
    F largest, total;
  };

  Score score;

  [[nodiscard]] LOWP_HOST_FN error_text check(char const* function, row_extent const&) const
    requires requires { Score::scale; }
  {
    return check_numbers(function, {{"scale", score.scale, not_zero}});
  }

  template <int K, class F, class... In>
  LOWP_FN F value(fold::number<K>, state<F> const& s, F const& x, In const&... in) const {
    if constexpr (K == 0)
      return score(x, in...);
    else if constexpr (IsLog)
      return lanes::sub(s.largest, score(x, in...));
    else
      return exp_of_minus(lanes::sub(s.largest, score(x, in...)));
  }
  template <int K, class F>
  LOWP_FN F term(fold::number<K>, F const& value) const {
    if constexpr (K == 1 && IsLog)
      return exp_of_minus(value);
    else
      return value;
  }
  template <class F>
  LOWP_FN void take_total(fold::number<0>, state<F>& s, F const& largest) const {
    auto const is_masked =
        lanes::equal(lanes::hidden(lanes::bits(largest)), lanes::bits(neutral<F>(fold::maximum{})));
    s.largest = lanes::select(is_masked, lanes::broadcast<F>(0), largest);
  }
  template <class F>
  LOWP_FN void take_total(fold::number<1>, state<F>& s, F const& sum) const {
    auto const is_zero = lanes::is_zero(sum);
    if constexpr (IsLog) {
      // -ffast-math would turn 0 - log into a change of sign, also for 0.
      F const minus_log =
          lanes::fma(lanes::log(sum), lanes::broadcast<F>(-1), lanes::broadcast<F>(0));
      s.total = lanes::select(lanes::mask_and(lanes::is_finite(sum), lanes::mask_not(is_zero)),
                              minus_log, sum);
    } else {
      s.total = lanes::select(is_zero, sum, lanes::div(lanes::broadcast<F>(1), sum));
    }
  }
  template <class F>
  LOWP_FN F result(state<F> const& s, F const& value) const {
    if constexpr (IsLog)
      return lanes::fma(value, lanes::broadcast<F>(-1), s.total);
    else
      return lanes::mul(value, s.total);
  }
};

template <class Executor, bool IsLog>
struct softmax_call : operation<Executor> {
  using calls =
      call<needs_row_input<names::in>, needs_row_output<names::out>, needs_number<names::columns>>;

  LOWP_HOST_FN void operator()(row_input auto&& in, row_output auto&& out,
                               std::size_t columns) const {
    run_rows(this->executor, IsLog ? "log_softmax" : "softmax", softmax_rows<plain_score, IsLog>{},
             read_rows("in", in, columns), write_rows("out", out, columns));
  }
};

/// Computes out = e^(x - max) / sum of e^(x - max) of a row in float, rounded once to nearest even.
/// A score of -inf has probability 0, and a row of them gives zeros. NaN or +inf makes its row NaN.
/// Arguments and errors: nn/rows.hpp and nn/README.md.
template <class Executor>
using softmax_operation = softmax_call<Executor, false>;

/// Computes out = x - max - ln(sum of e^(x - max)) over each row, otherwise as softmax. A score of
/// -inf gives -inf.
template <class Executor>
using log_softmax_operation = softmax_call<Executor, true>;

/// Softmax with every step but the sum rounded to T.
template <element T>
struct pb_relax_rows : softmax_rows<plain_score> {
  float alpha;

  [[nodiscard]] LOWP_HOST_FN error_text check(char const* function, row_extent const&) const {
    return check_numbers(function, {{"alpha", alpha, above_zero}});
  }

  using softmax_rows<plain_score>::value;
  template <class F>
  LOWP_FN F value(fold::number<1>, state<F> const& s, F const& x) const {
    F const difference = rounded_to<T>(lanes::sub(s.largest, x));
    F const relaxed = rounded_to<T>(lanes::mul(difference, lanes::broadcast<F>(alpha)));
    return rounded_to<T>(exp_of_minus(relaxed));
  }
  using softmax_rows<plain_score>::take_total;
  template <class F>
  LOWP_FN void take_total(fold::number<1>, state<F>& s, F const& sum) const {
    softmax_rows<plain_score>::take_total(fold::number<1>{}, s, rounded_to<T>(sum));
    s.total = rounded_to<T>(s.total);
  }
};

/// Computes softmax(alpha * in) by PB-Relax of CogView, softmax((x - max x) * alpha): M. Ding et
/// al., "CogView: Mastering Text-to-Image Generation via Transformers", arXiv:2105.13290, section
/// 2.4. x is the scores divided by alpha, so that they stay in the range of the format.
///
/// Each step is rounded to the format of `in`; the sum is in float. alpha = 1 gives the softmax of
/// a machine that has only this format.
///
/// @param in     scores, divided by alpha before they could overflow
/// @param alpha  finite and positive
template <class Executor>
struct softmax_pb_relax_operation : operation<Executor> {
  using calls = call<needs_row_input<names::in>, needs_row_output<names::out>,
                     needs_number<names::columns>, needs_number<names::alpha>>;

  LOWP_HOST_FN void operator()(row_input auto&& in, row_output auto&& out, std::size_t columns,
                               float_argument alpha) const {
    auto const from = read_rows("in", in, columns);
    using T = typename decltype(from.operand.operand)::type;
    run_rows(this->executor, "softmax_pb_relax", pb_relax_rows<T>{{}, alpha.value}, from,
             write_rows("out", out, columns));
  }
};

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

LOWP_ON_THIS_THREAD(softmax)
LOWP_ON_THIS_THREAD(log_softmax)
LOWP_ON_THIS_THREAD(softmax_pb_relax)
LOWP_ON_THIS_THREAD(softmax_backward)
LOWP_ON_THIS_THREAD(log_softmax_backward)
LOWP_ON_THIS_THREAD(scale_mask_softmax_backward)

namespace lowp::simd {
#define LOWP_COMPILED_DERIVATIVE(part, T, ...) \
  LOWP_COMPILED_CALL(part##_backward,          \
                     compiled_row_derivative<detail::__VA_ARGS__, T, access::write>)
#define LOWP_COMPILED_SOFTMAX(part, T)                                                            \
  LOWP_COMPILED_CALL(part, compiled_row_call<detail::softmax_rows<detail::plain_score>, T>)       \
  LOWP_COMPILED_CALL(part, compiled_row_call<detail::softmax_rows<detail::plain_score, true>, T>) \
  LOWP_COMPILED_DERIVATIVE(part, T, softmax_backward_rows<false>)                                 \
  LOWP_COMPILED_DERIVATIVE(part, T, softmax_backward_rows<true>)                                  \
  LOWP_COMPILED_DERIVATIVE(part, T, log_softmax_backward_rows)
LOWP_COMPILED_SOFTMAXES(LOWP_COMPILED_SOFTMAX)
#undef LOWP_COMPILED_SOFTMAX
#undef LOWP_COMPILED_DERIVATIVE
}  // namespace lowp::simd
