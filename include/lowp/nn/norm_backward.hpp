// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/nn/rows.hpp>

#include <cstddef>
#include <tuple>
#include <type_traits>

namespace lowp::detail {

/// The derivative of a norm: r (g - mean of g - y * mean of g * y) of each row. There g is dy *
/// weight, and y is (x - mean) r. RMS norm has no mean. A row of large sums is folded again with a
/// scale.
template <bool HasMean>
struct norm_backward_rows {
  using folds =
      std::tuple<std::conditional_t<HasMean, fold::both<fold::sum, fold::sum>, fold::sum>>;
  static constexpr bool uses_scores = true;
  static constexpr float small = 0x1p-64f, large = 0x1p64f, most = 0x1p125f;

  float const *means, *reciprocals;
  float columns;

  template <class F>
  struct state {
    bool is_scaled = false;
    F mean, reciprocal, mean_product, mean_gradient;
  };

  template <class F>
  LOWP_FN void start(state<F>& s, std::size_t row) const {
    s.reciprocal = lanes::broadcast<F>(reciprocals[row]);
    if constexpr (HasMean) s.mean = lanes::broadcast<F>(means[row]);
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
  template <class V>
  LOWP_FN V term(fold::number<0>, V const& value) const {
    return value;
  }
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
  template <int I, class F>
  LOWP_FN void add_to(fold::number<I>, F& sum, state<F> const& s, F const& x, F const& dy,
                      F const&) const {
    if constexpr (I == 0)
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
    if constexpr (HasMean)
      return lanes::mul(lanes::sub(x, s.mean), s.reciprocal);
    else
      return lanes::mul(x, s.reciprocal);
  }
  template <class F>
  LOWP_FN static F gradient(state<F> const& s, F const& dy, F const& weight) {
    F const g = lanes::mul(dy, weight);
    return s.is_scaled ? lanes::mul(g, lanes::broadcast<F>(small)) : g;
  }
};

}  // namespace lowp::detail
