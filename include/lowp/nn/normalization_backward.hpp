// SPDX-License-Identifier: Apache-2.0
// The derivatives of RMS norm and layer norm, from the statistics of the forward pass.
#pragma once

#include <lowp/nn/rows.hpp>

namespace lowp::detail {

template <class T>
using not_a_range_of_floats = fit<row_numbers<T>>;
template <class Name>
using needs_row_numbers = needs<Name, not_a_range_of_floats>;

/// The derivative of layer norm, or of RMS norm, which has no mean. A row of large sums is folded
/// again with a scale.
template <bool HasMean>
struct norm_backward_rows {
  using folds =
      std::tuple<std::conditional_t<HasMean, fold::both<fold::sum, fold::sum>, fold::sum>>;
  static constexpr bool uses_scores = true;
  static constexpr int shared_scores = 1;  // the weight
  static constexpr float tiny = 0x1p-64f, large = 0x1p64f, most = 0x1p125f, wide = 0x1p-100f;

  float const *means, *reciprocals;
  float columns;

  template <class F>
  struct state {
    bool is_scaled = false, is_wide = false;
    F mean, reciprocal, mean_product, mean_gradient;
  };

  template <class F>
  LOWP_FN void start(state<F>& s, std::size_t row) const {
    s.reciprocal = lanes::broadcast<F>(reciprocals[row]);
    if constexpr (HasMean) {
      s.mean = lanes::broadcast<F>(means[row]);
      s.is_wide = lanes::greater(lanes::bits(wide), lanes::magnitude(reciprocals[row]));
    }
  }
  template <class F>
  LOWP_FN auto value(fold::number<0>, state<F> const& s, F const& x, F const& dy,
                     F const& weight) const {
    F const g = gradient(s, dy, weight);
    F const product = lanes::mul(g, normal(s, x));
    if constexpr (HasMean)
      return fold::pair<F>{product, g};
    else
      return product;
  }
  LOWP_FN auto term(fold::number<0>, auto const& value) const { return value; }
  template <class F>
  LOWP_FN bool take_total(fold::number<0>, state<F>& s, F const& products) const {
    s.mean_product = lanes::div(products, lanes::broadcast<F>(columns));
    return scales(s, lanes::magnitude(products));
  }
  template <class F>
  LOWP_FN bool take_total(fold::number<0>, state<F>& s, fold::pair<F> const& sums) const {
    s.mean_product = lanes::div(sums.first, lanes::broadcast<F>(columns));
    s.mean_gradient = lanes::div(sums.second, lanes::broadcast<F>(columns));
    return scales(s, lanes::max(lanes::magnitude(sums.first), lanes::magnitude(sums.second)));
  }
  template <class F>
  LOWP_FN F result(state<F> const& s, F const& x, F const& dy, F const& weight) const {
    F rest = gradient(s, dy, weight);
    if constexpr (HasMean) rest = lanes::sub(rest, s.mean_gradient);
    F const dx =
        lanes::mul(lanes::fma(lanes::negative(normal(s, x)), s.mean_product, rest), s.reciprocal);
    return s.is_scaled ? lanes::mul(dx, lanes::broadcast<F>(large)) : dx;
  }
  /// Sum 0 is the derivative of the weight, sum 1 that of the bias.
  template <int K, class F>
  LOWP_FN void add_to(fold::number<K>, F& sum, state<F> const& s, F const& x, F const& dy,
                      F const&) const {
    if constexpr (K == 0)
      sum = lanes::fma(dy, normal(s, x), sum);
    else
      sum = lanes::add(sum, dy);
  }

 private:
  template <class F>
  LOWP_FN static bool scales(state<F>& s, lanes::word<F> const& total) {
    auto const limit = lanes::broadcast<lanes::word<F>>(lanes::bits(most));
    if (s.is_scaled || !lanes::any(lanes::greater(total, limit))) return false;
    return s.is_scaled = true;
  }
  template <class F>
  LOWP_FN static F normal(state<F> const& s, F const& x) {
    if constexpr (!HasMean) {
      return lanes::mul(x, s.reciprocal);
    } else {
      if (!s.is_wide) return lanes::mul(lanes::sub(x, s.mean), s.reciprocal);
      // The difference of two floats may be twice the largest one.
      F const quarter = lanes::broadcast<F>(0.25f);
      F const distance = lanes::sub(lanes::mul(x, quarter), lanes::mul(s.mean, quarter));
      return lanes::mul(distance, lanes::mul(s.reciprocal, lanes::broadcast<F>(4)));
    }
  }
  template <class F>
  LOWP_FN static F gradient(state<F> const& s, F const& dy, F const& weight) {
    F const g = lanes::mul(dy, weight);
    return s.is_scaled ? lanes::mul(g, lanes::broadcast<F>(tiny)) : g;
  }
};

/// Computes the derivatives of rms_norm, with r = reciprocal_rms, y = x * r and g = dy * weight:
///
///     dx         r * (g - y * mean of g * y)
///     dweight    sum over all rows of dy * y, for each column
///
/// No intermediate value leaves the range of float if |g| is below 2^127.
///
/// dweight adds up rows as add_rows does. No group leaves the range of float if |dy * y| is below
/// 2^123. The processor's memory for sums is allocated before anything is written: at most a double
/// for each column of 16 rows.
///
/// @param x, weight       those of the forward pass
/// @param dy              the derivative with respect to its result
/// @param reciprocal_rms  floats, one for each row, as rms_norm returns them
/// @param dx              behind a residual sum, added_to{dx} adds to the gradient that reaches x
///                        beside the norm: in float, then rounded once
/// @param dweight         `columns` floats, which are overwritten; added_to{dweight} adds the sum
///                        to them in double, rounded once
/// @param scratch         of a GPU, optional: rms_norm_backward_scratch(rows, columns) doubles.
///                        With it, x and dy are read once, unless a block cannot keep a row
template <class Executor>
struct rms_norm_backward_operation : operation<Executor> {
  using calls = call_with_scratch<Executor, needs_row_input<names::x>, needs_input<names::weight>,
                                  needs_row_input<names::dy>,
                                  needs_row_numbers<names::reciprocal_rms>, needs_total<names::dx>,
                                  needs_sums<names::dweight>, needs_number<names::columns>>;

  template <row_input X, input Weight, row_input Dy, row_numbers Rms, row_total Dx,
            row_sums Dweight, row_scratch... Scratch>
    requires takes_scratch<Executor, Scratch...>
  LOWP_HOST_FN void operator()(X&& x, Weight&& weight, Dy&& dy, Rms&& reciprocal_rms, Dx&& dx,
                               Dweight&& dweight, std::size_t columns, Scratch&&... scratch) const {
    auto const rms = read_for_each_row<float>("reciprocal_rms", reciprocal_rms);
    run_rows(this->executor, "rms_norm_backward",
             norm_backward_rows<false>{nullptr, rms.operand, convert<float>(columns)},
             read_rows("x", x, columns), read_rows("dy", dy, columns),
             in_every_fold("weight", weight, columns), rms, write_rows("dx", dx, columns),
             for_each_column("dweight", dweight), sums_in<1>(scratch)...);
  }
};

/// Computes the derivatives of layer_norm. With r = reciprocal_deviation of a row, y = (x - mean) *
/// r and g = dy * weight,
///
///     dx         r * (g - mean of g - y * mean of g * y)
///     dweight    sum over all rows of dy * y, for each column
///     dbias      sum over all rows of dy, for each column
///
/// @param mean, reciprocal_deviation  floats, one for each row, as layer_norm returns them
/// @param dweight, dbias  `columns` floats each, which are overwritten, or added_to them
/// @param scratch         layer_norm_backward_scratch(rows, columns) doubles
template <class Executor>
struct layer_norm_backward_operation : operation<Executor> {
  using calls = call_with_scratch<Executor, needs_row_input<names::x>, needs_input<names::weight>,
                                  needs_row_input<names::dy>, needs_row_numbers<names::mean>,
                                  needs_row_numbers<names::reciprocal_deviation>,
                                  needs_total<names::dx>, needs_sums<names::dweight>,
                                  needs_sums<names::dbias>, needs_number<names::columns>>;

  template <row_input X, input Weight, row_input Dy, row_numbers Mean, row_numbers Deviation,
            row_total Dx, row_sums Dweight, row_sums Dbias, row_scratch... Scratch>
    requires takes_scratch<Executor, Scratch...>
  LOWP_HOST_FN void operator()(X&& x, Weight&& weight, Dy&& dy, Mean&& mean,
                               Deviation&& reciprocal_deviation, Dx&& dx, Dweight&& dweight,
                               Dbias&& dbias, std::size_t columns, Scratch&&... scratch) const {
    auto const means = read_for_each_row<float>("mean", mean);
    auto const deviations = read_for_each_row<float>("reciprocal_deviation", reciprocal_deviation);
    run_rows(this->executor, "layer_norm_backward",
             norm_backward_rows<true>{means.operand, deviations.operand, convert<float>(columns)},
             read_rows("x", x, columns), read_rows("dy", dy, columns),
             in_every_fold("weight", weight, columns), means, deviations,
             write_rows("dx", dx, columns), for_each_column("dweight", dweight),
             for_each_column("dbias", dbias), sums_in<2>(scratch)...);
  }
};

}  // namespace lowp::detail

namespace lowp {

// Return the doubles of scratch for a GPU's derivatives of `rows` rows.
constexpr std::size_t rms_norm_backward_scratch(std::size_t rows, std::size_t columns) {
  return detail::doubles_of_sums(rows, columns, 1);
}
constexpr std::size_t layer_norm_backward_scratch(std::size_t rows, std::size_t columns) {
  return detail::doubles_of_sums(rows, columns, 2);
}

}  // namespace lowp

LOWP_ON_THIS_THREAD(rms_norm_backward)
LOWP_ON_THIS_THREAD(layer_norm_backward)

namespace lowp::simd {

template <bool HasMean, class T, access A>
using compiled_norm_derivative = summing_row_call<
    compiled_row_derivative<detail::norm_backward_rows<HasMean>, T, A, operand<T, access::read>>,
    HasMean ? 2 : 1>;

#define LOWP_COMPILED_NORM(part, T)                                                           \
  LOWP_COMPILED_CALL(part##_backward, compiled_norm_derivative<false, T, access::write>)      \
  LOWP_COMPILED_CALL(part##_backward, compiled_norm_derivative<true, T, access::write>)       \
  LOWP_COMPILED_CALL(part##_backward, compiled_norm_derivative<false, T, access::read_write>) \
  LOWP_COMPILED_CALL(part##_backward, compiled_norm_derivative<true, T, access::read_write>)
LOWP_COMPILED_NORMS(LOWP_COMPILED_NORM)
#undef LOWP_COMPILED_NORM
LOWP_COMPILED_CALL(norms_backward, line_call<compiled_rows<compiled_statistic>>)
LOWP_COMPILED_CALL(norms_backward, line_call<compiled_rows<compiled_statistic, compiled_statistic>>)

}  // namespace lowp::simd
