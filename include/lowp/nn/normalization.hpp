// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/nn/rows.hpp>

#include <cstddef>
#include <cstdint>
#include <tuple>

namespace lowp::detail {

/// A row needs a scale, a power of two, if a sum is not finite. It also needs one if the sum of
/// squares is so small that squares may have vanished. Such a row is folded again with a coarse
/// scale. After one for large elements, a last turn has a fine scale: the variance is about 1.
struct norm_rows {
  float eps, columns;

  enum class turn : std::uint8_t { first, coarse, last };

  [[nodiscard]] LOWP_HOST_FN error_text check(char const* function, row_extent const&) const {
    return check_number(lanes::bits(eps) < lanes::binary32_infinity, function, "eps", eps,
                        "finite and at least 0");
  }

  template <class F>
  struct state {
    turn number = turn::first;
    F scale = lanes::broadcast<F>(1), mean, rest, factor;
  };

  template <class F>
  LOWP_FN F value(fold::number<0>, state<F> const& s, F const& x) const {
    return lanes::mul(x, s.scale);
  }
  /// Returns 1 / root of the row as it was before its scale.
  template <class F>
  LOWP_FN F reciprocal_root(state<F> const& s) const {
    return lanes::mul(s.factor, s.scale);
  }
  template <class F>
  LOWP_FN static bool is_finite(F const& x) {
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
    F const variance =
        lanes::add(lanes::div(squares, lanes::broadcast<F>(columns)), scaled_eps(s.scale));
    if (!is_finite(variance)) {
      if (scale_down(s)) return true;
    } else if (s.number == turn::coarse) {
      s.scale = fine_scale(s.scale, variance);
      s.number = turn::last;
      return true;
    } else if (s.number == turn::first && may_vanish && lanes::bits(eps) < low_eps &&
               lanes::any(lanes::greater(lanes::broadcast<U>(low), lanes::bits(summed)))) {
      s.scale = lanes::broadcast<F>(0x1p96f);
      s.number = turn::last;
      return true;
    }
    s.factor = lanes::div(lanes::broadcast<F>(1), lanes::sqrt(variance));
    return false;
  }

 private:
  /// A row of zero differences must give 0, so a scaled eps that would become 0 stays above it.
  template <class F>
  LOWP_FN F scaled_eps(F const& scale) const {
    using U = lanes::word<F>;
    U const least = lanes::broadcast<U>(lanes::bits(eps) == 0 ? 0 : 1u << 23);
    F const product = lanes::mul(lanes::mul(lanes::broadcast<F>(eps), scale), scale);
    return lanes::from_bits<F>(lanes::hidden(lanes::max(lanes::bits(product), least)));
  }
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

  template <class F>
  LOWP_FN F term(fold::number<0>, F const& value) const {
    return lanes::mul(value, value);
  }
  template <class F>
  LOWP_FN bool take_total(fold::number<0>, state<F>& s, F const& squares) const {
    return take_squares(s, squares, squares, true);
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
  using folds = std::tuple<fold::sum, fold::both<fold::sum, fold::sum>>;

  template <class F>
  LOWP_FN F value(fold::number<1>, state<F> const& s, F const& x) const {
    return lanes::sub(lanes::mul(x, s.scale), s.mean);
  }
  template <class F>
  LOWP_FN F term(fold::number<0>, F const& value) const {
    return value;
  }
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
    s.mean = lanes::mul(lanes::div(s.mean, scale), s.scale);
    return true;
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
