// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/report/amax.hpp>

namespace lowp {

/// Counts, largest magnitude and sum of squares over the elements of one or more gradients. All
/// zero bytes are an empty report.
template <class Sum>
struct basic_gradient_report {
  std::uint64_t count = 0;  ///< elements seen
  /// Infinite and NaN elements, which are not in `squares`. Best skip a step that has any.
  std::uint64_t nonfinite = 0;
  amax largest;           ///< magnitude, infinity included, NaN skipped
  Sum squares;            ///< sum over the finite elements, within a relative 2^-48
  std::uint64_t nan = 0;  ///< NaN elements, which are in `nonfinite`

  /// Returns the Euclidean norm, within a relative 2^-48. As in PyTorch it is NaN if an element is
  /// NaN, and else infinite if one is infinite.
  LOWP_FN double norm() const {
    if (nonfinite != 0) return nan != 0 ? __builtin_nan("") : __builtin_inf();
    return detail::root(squares.value());
  }

  template <class Other, class Atomics = detail::alone>
  LOWP_FN void add(basic_gradient_report<Other> const& other, Atomics const& atomics = {}) {
    atomics.add(count, other.count);
    atomics.add(nonfinite, other.nonfinite);
    largest.add(other.largest, atomics);
    detail::merge(squares, other.squares, atomics);
    atomics.add(nan, other.nan);
  }
};
using gradient_report = basic_gradient_report<exact_square_sum>;

namespace detail {

using partial_gradients = basic_gradient_report<compensated_sum>;

LOWP_EXACT_BEGIN

template <class F>
class gradient_lanes {
  using D = lanes::wide<F>;

 public:
  LOWP_FN void add(F x) {
    auto const is_finite = lanes::is_finite(x);
    if (lanes::any(lanes::mask_not(is_finite))) {
      nonfinite_ += lanes::count(lanes::mask_not(is_finite));
      nan_ += lanes::count(lanes::is_nan(x));
      largest_.add(x);
      x = lanes::select(is_finite, x, lanes::broadcast<F>(0));
    }
    largest_.add_number(x);
    D const wide = lanes::widen(x);  // makes the square exact
    squares_ = lanes::add_product(squares_, wide, wide);
  }

  /// Ends a run of at most 32 packs: their squares have an error below 32 * 2^-53 of their sum.
  LOWP_FN void end_batch() {
    all_squares_.add(squares_);
    squares_ = lanes::broadcast<D>(0);
  }

  LOWP_FN partial_gradients total(std::uint64_t count) const {
    partial_gradients partial{count, nonfinite_, largest_.total(count), {}, nan_};
    all_squares_.add_to(partial.squares);
    return partial;
  }

 protected:
  amax_lanes<F> largest_;

 private:
  D squares_ = lanes::broadcast<D>(0);
  compensated_lanes<D> all_squares_;
  std::uint64_t nonfinite_ = 0, nan_ = 0;
};

LOWP_EXACT_END

template <class F>
struct lanes_of_report<gradient_report, F> : std::type_identity<gradient_lanes<F>> {};

}  // namespace detail

}  // namespace lowp
