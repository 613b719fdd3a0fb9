// SPDX-License-Identifier: Apache-2.0
// Cross-entropy from logits, with its derivative from the same pass over the rows.
#pragma once

#include <lowp/measure/measuring.hpp>
#include <lowp/nn/softmax.hpp>

namespace lowp {

/// `averaged` is the mean of the losses of rows that are not ignored.
enum class loss_reduction { averaged, summed };

/// The options of PyTorch's cross_entropy. `scale`, as of a loss_scaler, multiplies the derivative.
/// It is finite and not 0. `scale_at`, a number for each row, replaces it, and may be any float.
/// `label_smoothing` is from 0 to 1.
struct cross_entropy_options {
  std::int64_t ignore_index = -100;
  float label_smoothing = 0;
  loss_reduction reduction = loss_reduction::averaged;
  float scale = 1;
  float const* scale_at = nullptr;
};

namespace detail {

template <class T>
using not_cross_entropy_options = fit<std::convertible_to<T, cross_entropy_options>>;

inline constexpr auto no_column = std::numeric_limits<std::size_t>::max();

/// The value of a logit is d = max - logit. Its e^-d is kept. Of an ignored row, no column is
/// folded.
template <bool IsOnDevice, class Logit, class Label>
struct cross_entropy_rows {
  using folds = std::tuple<fold::maximum, fold::both<fold::sum, fold::sum>>;

  Logit const* logits;
  std::size_t stride, columns, counted;  ///< counted: the rows of a mean, else 1
  float const* counts;                   ///< null, or `counted` in a device's memory, for each row
  Label const* labels;
  cross_entropy_options options;
  /// A power of two below 1 / columns. The sum of all d times it stays in the range of float.
  float share =
      lanes::from_bits<float>(static_cast<std::uint32_t>(127 - std::bit_width(columns)) << 23);

  using log_softmax_rows = softmax_rows<plain_score, true>;
  template <class F>
  struct state : log_softmax_rows::state<F> {
    std::size_t marked = no_column;
    F at_label, scale, smooth, target, factor, loss;
  };

  [[nodiscard]] LOWP_HOST_FN error_text check(char const* function, row_extent const& in) const {
    error_text const wrong =
        check_numbers(function, {{"label_smoothing", options.label_smoothing, at_most_one},
                                 {"scale", options.scale, not_zero}});
    if (!wrong.empty()) return wrong;
    return check_labels<IsOnDevice>(function, "label", labels, in.rows, columns,
                                    options.ignore_index);
  }

  LOWP_FN bool is_ignored(std::size_t row) const { return labels[row] == options.ignore_index; }
  LOWP_FN std::size_t visible(std::size_t row, std::size_t) const {
    return is_ignored(row) ? 0 : columns;
  }
  /// A label that is no column, which only a GPU may meet, makes its row NaN.
  template <class F>
  LOWP_FN void start(state<F>& s, std::size_t row) const {
    F const zero = lanes::broadcast<F>(0);
    s.at_label = s.scale = s.smooth = s.target = zero;
    if (is_ignored(row)) return;
    auto const label = static_cast<std::size_t>(labels[row]);
    F const nan = lanes::from_bits<F>(lanes::broadcast<lanes::word<F>>(lanes::binary32_nan));
    s.at_label = s.scale = nan;
    if (label >= columns) return;
    s.marked = label;
    s.at_label = lanes::broadcast<F>(static_cast<float>(logits[row * stride + label]));
    float n = static_cast<float>(counted);
    if constexpr (IsOnDevice)
      if (counts != nullptr) n = counts[row];
    float const scale = options.scale_at != nullptr ? options.scale_at[row] : options.scale;
    s.scale = lanes::div(lanes::broadcast<F>(scale), lanes::broadcast<F>(n));
    F const eps = lanes::broadcast<F>(options.label_smoothing);
    s.smooth =
        lanes::div(lanes::mul(eps, s.scale), lanes::broadcast<F>(static_cast<float>(columns)));
    s.target = lanes::fma(lanes::sub(lanes::broadcast<F>(1), eps), s.scale, s.smooth);
  }

  LOWP_FN auto value(auto fold, auto const& s, auto const& x) const {
    return log_softmax_rows{}.value(fold, s, x);
  }
  LOWP_FN auto term(fold::number<0>, auto const& value) const { return value; }
  template <class F>
  LOWP_FN fold::pair<F> term(fold::number<1>, F const& value) const {
    return {exp_of_minus(value), in_sum(value)};
  }
  LOWP_FN auto kept(auto const&, auto const& term) const { return term.first; }
  LOWP_FN void take_total(fold::number<0> fold, auto& s, auto const& largest) const {
    log_softmax_rows{}.take_total(fold, s, largest);
  }
  template <class F>
  LOWP_FN void take_total(fold::number<1> fold, state<F>& s, fold::pair<F> const& total) const {
    log_softmax_rows{}.take_total(fold, s, total.first);
    F const per_sum = lanes::div(s.scale, total.first), below = lanes::sub(s.largest, s.at_label);
    s.factor = lanes::select(lanes::is_zero(total.first), lanes::broadcast<F>(0), per_sum);
    s.loss = below;
    if (lanes::magnitude(options.label_smoothing) != 0 && s.marked != no_column) {
      F const eps = lanes::broadcast<F>(options.label_smoothing);
      F const mean =
          lanes::div(total.second, in_sum(lanes::broadcast<F>(static_cast<float>(columns))));
      // An infinite loss of the label has no part in one of eps 1.
      F const rest = lanes::sub(lanes::broadcast<F>(1), eps);
      bool const is_one = lanes::bits(options.label_smoothing) == lanes::bits(1.0f);
      s.loss = lanes::fma(eps, mean, is_one ? rest : lanes::mul(rest, below));
    }
    s.loss = lanes::sub(s.loss, s.total);
  }
  LOWP_FN auto statistic(fold::number<0>, auto const& s) const { return s.loss; }
  LOWP_FN auto result(auto const& s, auto const& e) const {
    return lanes::fma(e, s.factor, lanes::negative(s.smooth));
  }
  LOWP_FN auto marked_result(auto const& s, auto const& e) const {
    return lanes::fma(e, s.factor, lanes::negative(s.target));
  }

 private:
  template <class F>
  LOWP_FN F in_sum(F const& x) const {
    return lanes::mul(x, lanes::broadcast<F>(share));
  }
};

/// Computes the cross-entropy of each row of logits x with its label t, and its derivative. They
/// have PyTorch's meaning, with eps = label_smoothing and n columns:
///
///     loss      (1 - eps) * -log p_t + eps * mean of -log p,   p = softmax(x)
///     dlogits   scale / N * (p - q),   q_t = 1 - eps + eps / n, else q = eps / n
///
/// N counts the rows that are not ignored, for PyTorch's reduction='mean'. For 'sum' it is 1.
/// `losses` gets the loss of each row in either case, undivided and without scale. A row whose
/// label is ignore_index has loss 0 and derivatives 0, whatever its logits.
///
///     sum_report loss;
///     cross_entropy(logits, labels, columns, {}, losses, dlogits, loss);
///
/// loss.mean() is over the rows that are not ignored, and loss.count is their number. Mean and
/// value() are within 2^-48 of those of `losses`. If all rows are ignored, the mean is NaN as in
/// PyTorch, and derivatives are 0.
///
/// No intermediate value leaves the range of float if no max - x does. A logit of -inf has
/// probability 0, and a row of them an infinite loss and p = 0. NaN or +inf makes its row NaN.
///
/// On a GPU, the host cannot read the labels. There a label that is no column makes its row NaN.
///
/// @param labels  a column for each row, or ignore_index; the host refuses others
/// @param losses  floats, one for each row
/// @param report  optional; the call adds to it, so that it may serve the parts of a batch
template <class Executor>
struct cross_entropy_operation : operation<Executor> {
  using options_type = cross_entropy_options;
  using calls =
      call<needs_row_input<names::logits>, needs<names::labels, not_a_range_of_int64_or_int32>,
           needs_number<names::columns>, needs<names::options, not_cross_entropy_options>,
           needs_floats<names::losses>, needs_row_output<names::dlogits>,
           may_have_report<sum_report>>;

  template <row_input Logits, label_range Labels, row_statistic Losses, row_output Dlogits,
            std::same_as<sum_report>... Report>
    requires(sizeof...(Report) <= 1)
  LOWP_HOST_FN void operator()(Logits&& logits, Labels&& labels, std::size_t columns,
                               cross_entropy_options const& options, Losses&& losses,
                               Dlogits&& dlogits, Report&... report) const {
    using label = std::ranges::range_value_t<std::remove_cvref_t<Labels>>;
    constexpr bool is_on_device = has_own_memory<Executor>;
    bool const is_averaged = options.reduction == loss_reduction::averaged;
    auto const from = read_rows("logits", logits, columns);
    auto const each = read_for_each_row<label>("labels", labels);
    auto const of_rows = for_each_row("losses", losses);
    auto const to = write_rows("dlogits", dlogits, columns);
    std::size_t ignored = 0;
    if constexpr (!is_on_device)
      if (is_averaged || sizeof...(Report) != 0)
        for (auto const each_label : labels) ignored += each_label == options.ignore_index;
    float* const counts = of_rows.operand.operand.data;
    using logit = typename decltype(from.operand.operand)::type;
    cross_entropy_rows<is_on_device, logit, label> const rows{
        from.operand.operand.data,
        from.operand.stride,
        columns,
        is_averaged ? each.range.given - ignored : 1,
        is_on_device && is_averaged ? counts : nullptr,
        each.operand,
        options};
    auto const wrong_with = [&](auto const&... scales) {
      return check_call_over_rows(this->executor, "cross_entropy", rows, from, each, scales...,
                                  of_rows, to);
    };
    std::span const scales(options.scale_at, from.range.rows);
    error_text const wrong = options.scale_at == nullptr
                                 ? wrong_with()
                                 : wrong_with(read_for_each_row<float>("scale_at", scales));
    if (!wrong.empty()) return this->executor.refuse_if(wrong);
    if constexpr (is_on_device) {
      std::uint64_t* seen = nullptr;
      ((seen = &report.count), ...);
      if (is_averaged || seen != nullptr)
        this->executor(simd::label_call<label>{each.operand, from.range.rows, options.ignore_index,
                                               counts, seen});
    }
    run_checked_rows(this->executor, rows, from, each, of_rows, to);
    (by_blocks(this->executor)(call_of(make<measuring>{}, &report, read("losses", losses))), ...);
    if constexpr (!is_on_device) ((report.count -= ignored), ...);
  }
};

}  // namespace detail

}  // namespace lowp

LOWP_ON_THIS_THREAD(cross_entropy)

namespace lowp::simd {
#define LOWP_COMPILED_LOSS(part, T, Label)                                                   \
  LOWP_COMPILED_CALL(part, compiled_row_call<detail::cross_entropy_rows<false, T, Label>, T, \
                                             tuple<>, compiled_statistic>)
LOWP_COMPILED_CROSS_ENTROPIES(LOWP_COMPILED_LOSS)
#undef LOWP_COMPILED_LOSS
}  // namespace lowp::simd
