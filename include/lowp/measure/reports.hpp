// SPDX-License-Identifier: Apache-2.0
// Sums of numbers and of products, and what is counted of gradients. No number of terms makes a sum
// stall or overflow.
#pragma once

#include <lowp/report/amax.hpp>

namespace lowp {

/// The sum of the terms of one or more ranges, or of products of two. All zero bytes are an empty
/// sum.
template <class Sum>
struct basic_sum_report {
  std::uint64_t count = 0;  ///< terms seen
  std::uint64_t nan = 0;    ///< terms that are NaN: from a NaN, or from infinity times zero
  std::uint64_t positive_infinite = 0;  ///< terms that are +infinity
  std::uint64_t negative_infinite = 0;  ///< terms that are -infinity
  Sum finite;  ///< sum of the other terms, within 2^-49 of the sum of their magnitudes

  /// Returns the sum, within 2^-48 of the sum of the terms' magnitudes for any number of terms. It
  /// is NaN if a term is NaN or both infinities occur, and else infinite if one occurs. Finite
  /// terms have a finite sum; 0 is +0.
  LOWP_FN double value() const {
    bool const rises = positive_infinite != 0, falls = negative_infinite != 0;
    if (nan != 0 || (rises && falls)) return special(0x7ff8);
    if (rises || falls) return special(rises ? 0x7ff0 : 0xfff0);
    return finite.value();
  }
  /// Returns value() / count; NaN if count is 0.
  LOWP_FN double mean() const { return detail::quotient(value(), count, special(0x7ff8)); }

  template <class Other, class Atomics = detail::alone>
  LOWP_FN void add(basic_sum_report<Other> const& other, Atomics const& atomics = {}) {
    atomics.add(count, other.count);
    atomics.add(nan, other.nan);
    atomics.add(positive_infinite, other.positive_infinite);
    atomics.add(negative_infinite, other.negative_infinite);
    detail::merge(finite, other.finite, atomics);
  }

 private:
  /// Returns the double whose first 16 bits these are.
  LOWP_FN static constexpr double special(std::uint64_t bits) {
    return __builtin_bit_cast(double, bits << 48);
  }
};

using sum_report = basic_sum_report<exact_square_sum>;

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

using partial_sum = basic_sum_report<compensated_sum>;
using partial_gradients = basic_gradient_report<compensated_sum>;

/// A term that is a product, exact in double precision.
template <class F>
struct factors {
  F a, b;

  LOWP_FN friend factors only(lanes::mask<F> const& is_element, factors const& x) {
    return {only(is_element, x.a), only(is_element, x.b)};
  }
};

LOWP_EXACT_BEGIN

template <class F>
class sum_lanes {
  using U = lanes::word<F>;
  using D = lanes::wide<F>;

 public:
  LOWP_FN void add(F x) {
    auto const is_special = lanes::mask_not(lanes::is_finite(x));
    if (lanes::any(is_special)) {
      count_special(x, is_special);
      x = lanes::select(is_special, lanes::broadcast<F>(0), x);
    }
    sum_ = lanes::add(sum_, lanes::widen(x));
  }
  LOWP_FN void add(factors<F> x) {
    auto const is_finite = lanes::mask_and(lanes::is_finite(x.a), lanes::is_finite(x.b));
    if (lanes::any(lanes::mask_not(is_finite))) {
      count_special(lanes::mul(x.a, x.b), lanes::mask_not(is_finite));
      F const zero = lanes::broadcast<F>(0);
      x = {lanes::select(is_finite, x.a, zero), lanes::select(is_finite, x.b, zero)};
    }
    sum_ = lanes::add_product(sum_, lanes::widen(x.a), lanes::widen(x.b));
  }

  /// Ends a run of at most 16 packs: their error is below 16 * 2^-53 of the terms' magnitudes.
  LOWP_FN void end_batch() {
    all_.add(sum_);
    sum_ = lanes::broadcast<D>(0);
  }

  LOWP_FN partial_sum total(std::uint64_t count) const {
    partial_sum partial{count, nan_, positive_, negative_, {}};
    all_.add_to(partial.finite);
    return partial;
  }

 private:
  /// Counts terms by kind. Rounding a product with an infinity or NaN to float keeps its kind.
  LOWP_FN void count_special(F const& term, lanes::mask<F> const& is_special) {
    auto const is_number = lanes::mask_and(is_special, lanes::mask_not(lanes::is_nan(term)));
    auto const is_negative = lanes::greater(lanes::broadcast<U>(0), lanes::bits(term));
    std::uint32_t const numbers = lanes::count(is_number);
    std::uint32_t const below = lanes::count(lanes::mask_and(is_number, is_negative));
    nan_ += lanes::count(is_special) - numbers;
    positive_ += numbers - below;
    negative_ += below;
  }

  D sum_ = lanes::broadcast<D>(0);
  compensated_lanes<D> all_;
  lane_counter<F> nan_ = 0, positive_ = 0, negative_ = 0;
};

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
  lane_counter<F> nonfinite_ = 0, nan_ = 0;
};

LOWP_EXACT_END

template <class F>
struct lanes_of_report<sum_report, F> : std::type_identity<sum_lanes<F>> {};
template <class F>
struct lanes_of_report<gradient_report, F> : std::type_identity<gradient_lanes<F>> {};

}  // namespace detail

}  // namespace lowp
