// SPDX-License-Identifier: Apache-2.0
// Softmax over the rows of a matrix, in float: finite for all finite scores, however far apart.
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

  [[nodiscard]] LOWP_HOST_FN error_text check(char const* function, row_extent const&) const {
    if constexpr (requires { score.check(function); }) return score.check(function);
    return {};
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

}  // namespace lowp::detail

LOWP_ON_THIS_THREAD(softmax)
LOWP_ON_THIS_THREAD(log_softmax)
LOWP_ON_THIS_THREAD(softmax_pb_relax)

namespace lowp::simd {
#define LOWP_COMPILED_SOFTMAX(part, T)                                                      \
  LOWP_COMPILED_CALL(part, compiled_row_call<detail::softmax_rows<detail::plain_score>, T>) \
  LOWP_COMPILED_CALL(part, compiled_row_call<detail::softmax_rows<detail::plain_score, true>, T>)
LOWP_COMPILED_SOFTMAXES(LOWP_COMPILED_SOFTMAX)
#undef LOWP_COMPILED_SOFTMAX
}  // namespace lowp::simd
