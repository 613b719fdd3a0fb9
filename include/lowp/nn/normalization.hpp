// SPDX-License-Identifier: Apache-2.0
// RMS norm and layer norm over rows, in float. The square of 256 overflows float16, of 1e20 float.
#pragma once

#include <lowp/nn/rows.hpp>

namespace lowp::detail {

/// A row is folded again with a coarse scale if a sum is not finite or squares may have vanished.
/// After a scale for large elements, a last turn has a fine one: the variance is about 1. If all
/// elements are equal, it has none.
struct norm_rows {
  static constexpr bool keeps_scores = true;

  float eps, columns;

  enum class turn : std::uint8_t { first, coarse, last };

  [[nodiscard]] LOWP_HOST_FN error_text check(char const* function, row_extent const&) const {
    return check_numbers(function, {{"eps", eps}});
  }

  template <class F>
  struct state {
    turn number = turn::first;
    std::uint8_t corrections = 0;
    F scale = lanes::broadcast<F>(1), mean, rest, factor;
  };

  /// A state whose scale is 1.
  template <class F>
  struct plain_state {
    F mean, rest, factor;
  };
  template <class F>
  LOWP_FN static bool is_plain(state<F> const& s) {
    return s.number == turn::first;
  }
  template <class F>
  LOWP_FN static plain_state<F> plain(state<F> const& s) {
    return {s.mean, s.rest, s.factor};
  }
  template <class F>
  LOWP_FN static F scaled(state<F> const& s, F const& x) {
    return lanes::mul(x, s.scale);
  }
  template <class F>
  LOWP_FN static F scaled(plain_state<F> const&, F const& x) {
    return x;
  }

  LOWP_FN auto value(fold::number<0>, auto const& s, auto const& x) const { return scaled(s, x); }
  /// Returns 1 / root of the row as it was before its scale.
  LOWP_FN auto reciprocal_root(auto const& s) const { return lanes::mul(s.factor, s.scale); }
  LOWP_FN static bool is_finite(auto const& x) {
    return !lanes::any(lanes::mask_not(lanes::is_finite(x)));
  }
  /// Scales large elements. Returns true if the row must be folded once more.
  template <class F>
  LOWP_FN static bool scale_down(state<F>& s) {
    if (s.number != turn::first) return false;
    s.scale = lanes::broadcast<F>(0x1p-96f);
    s.number = turn::coarse;
    return true;
  }
  /// Sets the factor from the sum of squares, or changes the scale and returns true. `summed` are
  /// the squares before a correction. If elements are all equal, they may not vanish: a scale would
  /// make them infinite.
  template <class F>
  LOWP_FN bool take_squares(state<F>& s, F const& squares, F const& summed, bool may_vanish) const {
    using U = lanes::word<F>;
    constexpr std::uint32_t low = (127 - 80) << 23, low_eps = (127 - 100) << 23;
    F const scaled_eps = lanes::mul(lanes::mul(lanes::broadcast<F>(eps), s.scale), s.scale);
    F const variance = lanes::add(lanes::div(squares, lanes::broadcast<F>(columns)), scaled_eps);
    if (!is_finite(variance)) {
      if (scale_down(s)) return true;
    } else if (s.number == turn::coarse) {
      bool const is_constant = !lanes::any(lanes::mask_not(lanes::is_zero(summed)));
      s.scale = is_constant ? lanes::broadcast<F>(1) : fine_scale(s.scale, variance);
      s.number = turn::last;
      return true;
    } else if (s.number == turn::first && may_vanish && lanes::magnitude(eps) < low_eps &&
               lanes::any(lanes::greater(lanes::broadcast<U>(low), lanes::bits(summed)))) {
      s.scale = lanes::broadcast<F>(0x1p96f);
      s.number = turn::last;
      return true;
    }
    s.factor = lanes::div(lanes::broadcast<F>(1), lanes::sqrt(variance));
    return false;
  }

 private:
  /// Returns the scale with which a variance would be about 1. It and its reciprocal are normal.
  template <class F>
  LOWP_FN static F fine_scale(F const& scale, F const& variance) {
    using U = lanes::word<F>;
    U const half = ((lanes::bits(variance) >> 23) + 1) >> 1;
    U const exponent = (lanes::bits(scale) >> 23) + 64 - half;
    return lanes::from_bits<F>(lanes::hidden(
        lanes::min(lanes::max(exponent, lanes::broadcast<U>(1)), lanes::broadcast<U>(253)) << 23));
  }
};

struct rms_norm_rows : norm_rows {
  using folds = std::tuple<fold::sum>;

  LOWP_FN auto term(fold::number<0>, auto const& value) const { return lanes::mul(value, value); }
  LOWP_FN bool take_total(fold::number<0>, auto& s, auto const& squares) const {
    return take_squares(s, squares, squares, true);
  }
  LOWP_FN auto statistic(fold::number<0>, auto const& s) const { return reciprocal_root(s); }
  LOWP_FN auto result(auto const& s, auto const& value, auto const& weight) const {
    return lanes::mul(lanes::mul(value, s.factor), weight);
  }
};

/// Fold 1 takes differences from the mean, for the rest that its rounding left, and their squares.
struct layer_norm_rows : norm_rows {
  using norm_rows::value;
  using folds = std::tuple<fold::sum, fold::both<fold::sum, fold::sum>>;

  LOWP_FN auto value(fold::number<1>, auto const& s, auto const& x) const {
    return lanes::sub(scaled(s, x), s.mean);
  }
  LOWP_FN auto term(fold::number<0>, auto const& value) const { return value; }
  template <class F>
  LOWP_FN fold::pair<F> term(fold::number<1>, F const& value) const {
    return {value, lanes::mul(value, value)};
  }
  template <class F>
  LOWP_FN bool take_total(fold::number<0>, state<F>& s, F const& sum) const {
    if (!is_finite(sum) && scale_down(s)) return true;
    s.mean = lanes::div(sum, lanes::broadcast<F>(columns));
    return false;
  }
  template <class F>
  LOWP_FN bool take_total(fold::number<1>, state<F>& s, fold::pair<F> const& total) const {
    using U = lanes::word<F>;
    s.rest = lanes::div(total.first, lanes::broadcast<F>(columns));
    F const squares = lanes::fma(lanes::negative(s.rest), total.first, total.second);
    if (is_finite(squares) && s.corrections < most_corrections && cancels(squares, total.second)) {
      s.mean = lanes::add(s.mean, s.rest);
      ++s.corrections;
      return true;
    }
    // Rounding may leave less than nothing.
    auto const is_less = lanes::mask_and(
        lanes::greater(lanes::broadcast<U>(0), lanes::bits(squares)), lanes::is_finite(squares));
    // Near a mean of 1 or more, small differences are zeros.
    bool const may_vanish =
        !lanes::any(lanes::greater(lanes::magnitude(s.mean), lanes::broadcast<U>(127u << 23)));
    F const scale = s.scale;
    if (!take_squares(s, lanes::select(is_less, lanes::broadcast<F>(0), squares), total.second,
                      may_vanish))
      return false;
    s.mean = lanes::mul(s.mean, lanes::div(s.scale, scale));
    return true;
  }
  LOWP_FN auto statistic(fold::number<0>, auto const& s) const {
    return lanes::div(lanes::add(s.mean, s.rest), s.scale);
  }
  LOWP_FN auto statistic(fold::number<1>, auto const& s) const { return reciprocal_root(s); }
  LOWP_FN auto result(auto const& s, auto const& value, auto const& weight,
                      auto const& bias) const {
    return lanes::fma(lanes::mul(lanes::sub(value, s.rest), s.factor), weight, bias);
  }

 private:
  /// Two leave half an ulp of the mean and little more, even of 2^23 columns.
  static constexpr std::uint8_t most_corrections = 2;

  /// Returns true if the correction takes more than half of the sum of squares. Around a mean that
  /// is a float next to the exact one, it never does.
  template <class F>
  LOWP_FN static bool cancels(F const& squares, F const& summed) {
    F const surplus = lanes::sub(summed, lanes::add(squares, squares));
    return lanes::any(lanes::greater(lanes::bits(surplus), lanes::broadcast<lanes::word<F>>(0)));
  }
};

/// Computes out = x / sqrt(mean of x^2 + eps) * weight in every row x: B. Zhang, R. Sennrich, "Root
/// Mean Square Layer Normalization", arXiv:1910.07467, and T5LayerNorm without its rounding to the
/// format of `weight`. If the squares overflow or may vanish, a power of two scales the row.
///
/// A row with NaN is NaN. In a row with infinity, infinity becomes NaN and finite elements 0. With
/// eps 0 a row of zeros is NaN.
///
/// `reciprocal_rms` gets the 1 / sqrt(mean of x^2 + eps) of the row, for elements without scale.
/// Beyond the largest float it is infinite.
///
/// @param weight          `columns` elements
/// @param eps             finite and not negative
/// @param reciprocal_rms  floats, one for each row; may be left out
template <class Executor>
struct rms_norm_operation : operation<Executor> {
  using calls =
      call<needs_row_input<names::in>, needs_input<names::weight>, needs_row_output<names::out>,
           needs_number<names::columns>, needs_number<names::eps>,
           may_have<1, names::reciprocal_rms, not_a_writable_range_of_floats>>;

  template <row_input In, input Weight, row_output Out, row_statistic... Rms>
    requires(sizeof...(Rms) <= 1)
  LOWP_HOST_FN void operator()(In&& in, Weight&& weight, Out&& out, std::size_t columns,
                               float_argument eps, Rms&&... reciprocal_rms) const {
    run_rows(this->executor, "rms_norm", rms_norm_rows{{eps.value, convert<float>(columns)}},
             read_rows("in", in, columns), in_every_row("weight", weight, columns),
             write_rows("out", out, columns), for_each_row("reciprocal_rms", reciprocal_rms)...);
  }
};

/// Computes out = (x - m) / sqrt(mean of (x - m)^2 + eps) * weight + bias in every row x of mean m:
/// J. L. Ba, J. R. Kiros, G. E. Hinton, "Layer Normalization", 2016.
///
/// The algorithm is the corrected two-pass one (T. F. Chan, G. H. Golub, R. J. LeVeque, "Algorithms
/// for Computing the Sample Variance", The American Statistician 37, 1983). It scales as rms_norm.
///
/// A row of equal elements is the bias, or NaN with eps 0. NaN or infinity makes a row NaN.
///
/// `mean` gets the m of a row and `reciprocal_deviation` its 1 / sqrt(mean of (x - m)^2 + eps), for
/// elements without scale. Beyond the largest float that is infinite.
///
/// @param weight, bias                `columns` elements each
/// @param eps                         finite and not negative
/// @param mean, reciprocal_deviation  floats, one for each row; both may be left out
template <class Executor>
struct layer_norm_operation : operation<Executor> {
  using calls =
      call<needs_row_input<names::in>, needs_input<names::weight>, needs_input<names::bias>,
           needs_row_output<names::out>, needs_number<names::columns>, needs_number<names::eps>,
           may_have<2, names::mean_or_reciprocal_deviation, not_a_writable_range_of_floats>>;

  LOWP_HOST_FN void operator()(row_input auto&& in, input auto&& weight, input auto&& bias,
                               row_output auto&& out, std::size_t columns,
                               float_argument eps) const {
    with_statistics(in, weight, bias, out, columns, eps.value);
  }
  LOWP_HOST_FN void operator()(row_input auto&& in, input auto&& weight, input auto&& bias,
                               row_output auto&& out, std::size_t columns, float_argument eps,
                               row_statistic auto&& mean,
                               row_statistic auto&& reciprocal_deviation) const {
    with_statistics(in, weight, bias, out, columns, eps.value, for_each_row("mean", mean),
                    for_each_row("reciprocal_deviation", reciprocal_deviation));
  }

 private:
  LOWP_HOST_FN void with_statistics(auto& in, auto& weight, auto& bias, auto& out,
                                    std::size_t columns, float eps,
                                    auto const&... statistic) const {
    run_rows(this->executor, "layer_norm", layer_norm_rows{{eps, convert<float>(columns)}},
             read_rows("in", in, columns), in_every_row("weight", weight, columns),
             in_every_row("bias", bias, columns), write_rows("out", out, columns), statistic...);
  }
};

}  // namespace lowp::detail

LOWP_ON_THIS_THREAD(rms_norm)
LOWP_ON_THIS_THREAD(layer_norm)

namespace lowp::simd {

template <class T, class... Statistic>
using compiled_rms_norm = compiled_row_call<detail::rms_norm_rows, T,
                                            compiled_rows<operand<T, access::read>>, Statistic...>;
template <class T, class... Statistic>
using compiled_layer_norm =
    compiled_row_call<detail::layer_norm_rows, T,
                      compiled_rows<operand<T, access::read>, operand<T, access::read>>,
                      Statistic...>;

#define LOWP_COMPILED_NORM(part, T)                                  \
  LOWP_COMPILED_CALL(part, compiled_rms_norm<T>)                     \
  LOWP_COMPILED_CALL(part, compiled_rms_norm<T, compiled_statistic>) \
  LOWP_COMPILED_CALL(part, compiled_layer_norm<T>)                   \
  LOWP_COMPILED_CALL(part, compiled_layer_norm<T, compiled_statistic, compiled_statistic>)
LOWP_COMPILED_NORMS(LOWP_COMPILED_NORM)
#undef LOWP_COMPILED_NORM

}  // namespace lowp::simd
