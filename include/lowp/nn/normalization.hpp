// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/nn/rows.hpp>

#include <cstddef>
#include <cstdint>
#include <tuple>

namespace lowp::detail {

/// A power of two that scales the largest element of a row, and sqrt(eps), to at most 4. No square
/// overflows, what underflows is negligible, and the quotients are the same.
struct row_scale {
  float eps;

  template <class F>
  LOWP_FN F operator()(F const& largest_magnitude) const {
    using U = lanes::word<F>;
    U const least = lanes::bits(lanes::sqrt(lanes::broadcast<F>(eps)));
    constexpr std::uint32_t highest = 253;  // the reciprocal of 2^126 is normal
    U const exponent = lanes::min(lanes::max(lanes::bits(largest_magnitude), least) >> 23,
                                  lanes::broadcast<U>(highest));
    return lanes::from_bits<F>(lanes::hidden((lanes::broadcast<U>(highest + 1) - exponent) << 23));
  }
  /// Returns 1 / sqrt(squares / columns + eps) of elements times `scale`. A row of zero differences
  /// must give 0, so a scaled eps that would become 0 stays above it.
  template <class F>
  LOWP_FN F factor(F const& scale, F const& squares, F const& columns) const {
    using U = lanes::word<F>;
    U const least = lanes::broadcast<U>(lanes::bits(eps) == 0 ? 0 : 1u << 23);
    F const product = lanes::mul(lanes::mul(lanes::broadcast<F>(eps), scale), scale);
    F const scaled_eps =
        lanes::from_bits<F>(lanes::hidden(lanes::max(lanes::bits(product), least)));
    F const variance = lanes::add(lanes::div(squares, columns), scaled_eps);
    return lanes::div(lanes::broadcast<F>(1), lanes::sqrt(variance));
  }
};

/// Fold 0 of both norms takes the largest magnitude and a sum. If a square might overflow or
/// vanish, it takes a second turn, of scaled elements.
struct norm_rows {
  row_scale scale;
  float columns;

  [[nodiscard]] LOWP_HOST_FN error_text check(char const* function, row_extent const&) const {
    return check_number(lanes::bits(scale.eps) < lanes::binary32_infinity, function, "eps",
                        scale.eps, "finite and at least 0");
  }

  template <class F>
  struct state {
    bool is_scaled = false;
    F scale = lanes::broadcast<F>(1), mean, rest, factor;
  };

  template <class F>
  LOWP_FN F value(fold::number<0>, state<F> const& s, F const& x) const {
    return lanes::mul(x, s.scale);
  }
  template <class F>
  LOWP_FN static F size_of(F const& value) {
    return lanes::from_bits<F>(lanes::hidden(lanes::magnitude(value)));
  }
  /// Returns 1 / root of the row as it was before its scale.
  template <class F>
  LOWP_FN F reciprocal_root(state<F> const& s) const {
    return lanes::mul(s.factor, s.scale);
  }
  /// Chooses a scale if the row needs one. Returns true if it must be folded with it.
  template <class F>
  LOWP_FN bool choose_scale(state<F>& s, F const& largest) const {
    using U = lanes::word<F>;
    constexpr std::uint32_t low = (127 - 32) << 23, high = (127 + 32) << 23;
    if (s.is_scaled) return false;
    U const size = lanes::bits(largest);
    s.is_scaled = lanes::any(lanes::mask_or(lanes::greater(lanes::broadcast<U>(low), size),
                                            lanes::greater(size, lanes::broadcast<U>(high))));
    if (s.is_scaled) s.scale = scale(largest);
    return s.is_scaled;
  }
};

struct rms_norm_rows : norm_rows {
  using folds = std::tuple<fold::both<fold::maximum, fold::sum>>;

  template <class F>
  LOWP_FN fold::pair<F> term(fold::number<0>, F const& value) const {
    return {size_of(value), lanes::mul(value, value)};
  }
  template <class F>
  LOWP_FN bool settle(fold::number<0>, state<F>& s, fold::pair<F> const& total) const {
    if (choose_scale(s, total.first)) return true;
    s.factor = scale.factor(s.scale, total.second, lanes::broadcast<F>(columns));
    return false;
  }
  template <class F>
  LOWP_FN F statistic(fold::number<0>, state<F> const& s) const {
    return reciprocal_root(s);
  }
  template <class F>
  LOWP_FN F result(state<F> const& s, F const& value, F const& weight) const {
    return lanes::mul(lanes::mul(value, s.factor), weight);
  }
};

/// Fold 1 takes the differences from the mean, for the rest that rounding left of it, and their
/// squares.
struct layer_norm_rows : norm_rows {
  using norm_rows::value;
  using folds = std::tuple<fold::both<fold::maximum, fold::sum>, fold::both<fold::sum, fold::sum>>;

  template <class F>
  LOWP_FN F value(fold::number<1>, state<F> const& s, F const& x) const {
    return lanes::sub(lanes::mul(x, s.scale), s.mean);
  }
  template <class F>
  LOWP_FN fold::pair<F> term(fold::number<0>, F const& value) const {
    return {size_of(value), value};
  }
  template <class F>
  LOWP_FN fold::pair<F> term(fold::number<1>, F const& value) const {
    return {value, lanes::mul(value, value)};
  }
  template <class F>
  LOWP_FN bool settle(fold::number<0>, state<F>& s, fold::pair<F> const& total) const {
    if (choose_scale(s, total.first)) return true;
    s.mean = lanes::div(total.second, lanes::broadcast<F>(columns));
    return false;
  }
  template <class F>
  LOWP_FN void settle(fold::number<1>, state<F>& s, fold::pair<F> const& total) const {
    using U = lanes::word<F>;
    F const count = lanes::broadcast<F>(columns);
    s.rest = lanes::div(total.first, count);
    F const squares = lanes::fma(lanes::negative(s.rest), total.first, total.second);
    // Rounding may leave less than nothing.
    auto const is_less = lanes::mask_and(
        lanes::greater(lanes::broadcast<U>(0), lanes::bits(squares)), lanes::is_finite(squares));
    s.factor =
        scale.factor(s.scale, lanes::select(is_less, lanes::broadcast<F>(0), squares), count);
  }
  template <class F>
  LOWP_FN F statistic(fold::number<0>, state<F> const& s) const {
    return lanes::div(lanes::add(s.mean, s.rest), s.scale);
  }
  template <class F>
  LOWP_FN F statistic(fold::number<1>, state<F> const& s) const {
    return reciprocal_root(s);
  }
  template <class F>
  LOWP_FN F result(state<F> const& s, F const& value, F const& weight, F const& bias) const {
    return lanes::fma(lanes::mul(lanes::sub(value, s.rest), s.factor), weight, bias);
  }
};

}  // namespace lowp::detail
