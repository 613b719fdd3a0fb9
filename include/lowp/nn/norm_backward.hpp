// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/nn/rows.hpp>

#include <cstddef>
#include <tuple>

namespace lowp::detail {

/// The common part of both norms' derivatives: g = dy * weight, y = (x - mean) / root. A row takes
/// the mean of g * y, and for layer norm that of g. If sums are large, it is folded again with a
/// scale.
struct norm_backward_rows {
  static constexpr bool uses_scores = true;
  static constexpr float small = 0x1p-64f, large = 0x1p64f, most = 0x1p125f;

  float const* reciprocals;
  float columns;

  template <class F>
  struct state {
    bool is_scaled = false;
    F mean, reciprocal, mean_product, mean_gradient;
  };

  template <class F>
  LOWP_FN void start(state<F>& s, std::size_t row) const {
    s.reciprocal = lanes::broadcast<F>(reciprocals[row]);
  }
  template <class F>
  LOWP_FN static F gradient(state<F> const& s, F const& dy, F const& weight) {
    F const g = lanes::mul(dy, weight);
    return s.is_scaled ? lanes::mul(g, lanes::broadcast<F>(small)) : g;
  }
  template <class F>
  LOWP_FN static bool scales(state<F>& s, F const& total) {
    auto const limit = lanes::broadcast<lanes::word<F>>(lanes::bits(most));
    if (s.is_scaled || !lanes::any(lanes::greater(lanes::magnitude(total), limit))) return false;
    return s.is_scaled = true;
  }
  template <class F>
  LOWP_FN F mean_of(F const& total) const {
    return lanes::div(total, lanes::broadcast<F>(columns));
  }
  template <class F>
  LOWP_FN static F times_reciprocal(state<F> const& s, F const& x) {
    F const product = lanes::mul(x, s.reciprocal);
    return s.is_scaled ? lanes::mul(product, lanes::broadcast<F>(large)) : product;
  }
  template <class D, class F>
  LOWP_FN static void add_product(D& sum, F const& a, F const& b) {
    sum = lanes::add_product(sum, lanes::widen(a), lanes::widen(b));
  }
};

struct rms_norm_backward_rows : norm_backward_rows {
  using folds = std::tuple<fold::sum>;

  template <class F>
  LOWP_FN F value(fold::number<0>, state<F> const& s, F const& x, F const& dy, F const& w) const {
    return lanes::mul(gradient(s, dy, w), lanes::mul(x, s.reciprocal));
  }
  template <class F>
  LOWP_FN F term(fold::number<0>, F const& value) const {
    return value;
  }
  template <class F>
  LOWP_FN bool take_total(fold::number<0>, state<F>& s, F const& total) const {
    s.mean_product = mean_of(total);
    return scales(s, total);
  }
  template <class F>
  LOWP_FN F result(state<F> const& s, F const& x, F const& dy, F const& w) const {
    F const minus_y = lanes::negative(lanes::mul(x, s.reciprocal));
    return times_reciprocal(s, lanes::fma(minus_y, s.mean_product, gradient(s, dy, w)));
  }
  template <class D, class F>
  LOWP_FN void add_to(fold::number<0>, D& sum, state<F> const& s, F const& x, F const& dy,
                      F const&) const {
    add_product(sum, dy, lanes::mul(x, s.reciprocal));
  }
};

struct layer_norm_backward_rows : norm_backward_rows {
  using folds = std::tuple<fold::both<fold::sum, fold::sum>>;

  float const* means;

  template <class F>
  LOWP_FN void start(state<F>& s, std::size_t row) const {
    norm_backward_rows::start(s, row);
    s.mean = lanes::broadcast<F>(means[row]);
  }
  template <class F>
  LOWP_FN static F normal(state<F> const& s, F const& x) {
    return lanes::mul(lanes::sub(x, s.mean), s.reciprocal);
  }
  template <class F>
  LOWP_FN fold::pair<F> value(fold::number<0>, state<F> const& s, F const& x, F const& dy,
                              F const& w) const {
    F const g = gradient(s, dy, w);
    return {g, lanes::mul(g, normal(s, x))};
  }
  template <class F>
  LOWP_FN fold::pair<F> term(fold::number<0>, fold::pair<F> const& value) const {
    return value;
  }
  template <class F>
  LOWP_FN bool take_total(fold::number<0>, state<F>& s, fold::pair<F> const& total) const {
    s.mean_gradient = mean_of(total.first);
    s.mean_product = mean_of(total.second);
    return scales(s, total.first) || scales(s, total.second);
  }
  template <class F>
  LOWP_FN F result(state<F> const& s, F const& x, F const& dy, F const& w) const {
    F const rest = lanes::sub(gradient(s, dy, w), s.mean_gradient);
    return times_reciprocal(s, lanes::fma(lanes::negative(normal(s, x)), s.mean_product, rest));
  }
  template <class D, class F>
  LOWP_FN void add_to(fold::number<0>, D& sum, state<F> const& s, F const& x, F const& dy,
                      F const&) const {
    add_product(sum, dy, normal(s, x));
  }
  template <class D, class F>
  LOWP_FN void add_to(fold::number<1>, D& sum, state<F> const&, F const&, F const& dy,
                      F const&) const {
    sum = lanes::add(sum, lanes::widen(dy));
  }
};

}  // namespace lowp::detail
