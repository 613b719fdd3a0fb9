// SPDX-License-Identifier: Apache-2.0
// A census in lanes, a pack at a time.
#pragma once

#include <lowp/format/codec.hpp>
#include <lowp/measure/census/census_report.hpp>
#include <lowp/report/lanes.hpp>

namespace lowp {

/// A type as the target of a census: float, or a narrow type with a zero and so with a sign.
template <class T>
concept census_target = element<T> && std::numeric_limits<T>::is_signed;

/// A census of rounding to `To`. Operations add to it in place.
template <census_target To>
struct census_report : range_census {};

namespace detail {

/// The least float magnitudes, as bits, that round to other kinds of numbers in a format.
struct census_borders {
  std::uint32_t kept;      ///< least that does not round to zero
  std::uint32_t normal;    ///< least that does not round to zero or to a subnormal value
  std::uint32_t overflow;  ///< least that overflows; infinity if no finite one does
};

/// Returns the least magnitude of a float whose code is at least `code`, or infinity.
template <format F>
LOWP_FN constexpr std::uint32_t least_that_rounds_to(std::uint32_t code) {
  std::uint32_t below = 0, there = lanes::binary32_infinity;
  while (there - below > 1) {
    std::uint32_t const middle = below + (there - below) / 2;
    bool const is_there =
        round_magnitude<F>(middle, false, std::uint32_t{0}, nearest_even{}) >= code;
    (is_there ? there : below) = middle;
  }
  return there;
}

template <census_target To>
inline constexpr census_borders borders_of = []() -> census_borders {
  if constexpr (std::same_as<To, float>) {
    return {1, 1u << 23, lanes::binary32_infinity};
  } else {
    constexpr format F = To::descriptor;
    return {least_that_rounds_to<F>(1), least_that_rounds_to<F>(F.min_normal_code()),
            least_that_rounds_to<F>(F.max_code() + 1)};
  }
}();

LOWP_EXACT_BEGIN

/// Rounds a magnitude, as bits, that does not overflow. A tie may go up: its error is the same.
template <census_target To, class F>
LOWP_FN F rounded_magnitude(lanes::word<F> const& a) {
  using U = lanes::word<F>;
  if constexpr (std::same_as<To, float>) {
    return lanes::from_bits<F>(a);
  } else {
    constexpr format G = To::descriptor;
    constexpr int dropped = 24 - G.precision();
    if constexpr (G.min_exponent() == -126) {
      // Codes are the first bits of floats, of subnormal ones too.
      constexpr std::uint32_t gap = 1u << dropped;
      return lanes::from_bits<F>((a + gap / 2) & (0 - gap));
    } else if constexpr (G.max_exponent() + dropped <= 127) {
      // Adding a power of two whose ulp is G's gap rounds to G's grid, for subnormals too.
      constexpr auto least = static_cast<std::uint32_t>(G.min_exponent() + 127) << 23;
      U const power = lanes::max(a & lanes::binary32_infinity, lanes::broadcast<U>(least));
      // A GPU has more room for a product than for an integer sum.
      F const there =
          std::same_as<F, float>
              ? lanes::mul(lanes::from_bits<F>(power), lanes::broadcast<F>(float{1u << dropped}))
              : lanes::from_bits<F>(power + (static_cast<std::uint32_t>(dropped) << 23));
      return lanes::sub(lanes::add(lanes::from_bits<F>(a), there), there);
    } else {
      U const zero = lanes::broadcast<U>(0);
      return lanes::from_bits<F>(
          decode<G>(round_magnitude<G>(a, lanes::greater(zero, zero), zero, nearest_even{})));
    }
  }
}

/// The census of elements in lanes F, without their exponents and the squares of their errors.
template <census_target To, class F>
class census_lanes {
  using U = lanes::word<F>;
  using M = lanes::mask<F>;

 public:
  using range = magnitude_range<U>;

  LOWP_FN basic_census total(std::uint64_t count) const {
    basic_census partial{
        count, unsound_.nan, unsound_.infinite, unsound_.finite, subnormal_, flushed_, {}, {}, {},
        {}};
    range_.add_to(partial.max_abs, partial.min_abs);
    partial.max_relative_error.bits = lane<U>::at(lanes::bits(relative_), 0);
    return partial;
  }

 protected:
  using limits = std::numeric_limits<To>;
  static constexpr census_borders borders = borders_of<To>;
  static constexpr std::uint32_t min_normal = 1u << 23;  ///< least normal float
  /// The least number that is normal in both formats.
  static constexpr std::uint32_t least_normal =
      limits::min_exponent < -125 ? min_normal
                                  : static_cast<std::uint32_t>(limits::min_exponent + 126) << 23;
  static constexpr std::uint32_t gap = 1u << (24 - limits::digits);  ///< of normal numbers

  /// Returns the error of numbers that stay finite. Small ones are below least_normal, but not 0.
  template <bool HasSmall>
  LOWP_FN static F error_of(U const& a) {
    F const x = lanes::from_bits<F>(a);
    if constexpr (HasSmall)
      return lanes::sub(x, rounded_magnitude<To, F>(a));
    else
      return lanes::sub(x, lanes::from_bits<F>((a + gap / 2) & (0 - gap)));
  }

  LOWP_FN void add_small(U const& a) { subnormal_ += range::count_below(borders.normal, a); }
  /// Moves the small numbers to their own count that are flushed.
  LOWP_FN void add_flushed(U const& a) {
    std::uint32_t const below_kept = range::count_below(borders.kept, a);
    flushed_ += below_kept;
    subnormal_ -= below_kept;
  }
  /// Counts elements that are not finite, overflow, or are subnormal as floats. Returns the
  /// magnitudes, with zeros for the first two kinds.
  LOWP_FN U add_rare(U const& a) {
    M const beyond = unsound_.add(a, borders.overflow);
    U const zero = lanes::broadcast<U>(0);
    if (lanes::any(beyond)) {
      M const special = lanes::greater(a, lanes::broadcast<U>(lanes::binary32_infinity - 1));
      range_.add(lanes::select(special, zero, a));
    }
    U const kept = lanes::select(beyond, zero, a);
    tiny_ += range::count_below(min_normal, kept);
    return kept;
  }

  /// Returns false if no number of this kind can have a larger relative error than one seen.
  template <bool HasSmall>
  LOWP_FN bool may_find_larger() const {
    return lane<U>::at(lanes::bits(relative_), 0) < lanes::bits(most_relative<HasSmall>);
  }
  /// Returns a negative number if this error is larger than the largest relative error. An fma has
  /// the sign of its exact value.
  LOWP_FN F below_error(U const& a, U const& size) const {
    // nvcc must not see the sign as a constant: it would negate, and flush.
    U const minus = size | lanes::hidden(lanes::broadcast<U>(lanes::binary32_sign));
    return lanes::fma(relative_, lanes::from_bits<F>(a), lanes::from_bits<F>(minus));
  }
  LOWP_FN static M is_negative(F const& x) {
    return lanes::greater(lanes::broadcast<U>(0), lanes::bits(x));
  }
  /// Compares with the largest relative error so far, which all lanes share.
  LOWP_FN void compare_error(U const& a, F const& error) {
    U const size = lanes::hidden(lanes::magnitude(error));
    if (!lanes::any(is_negative(below_error(a, size)))) return;
    U const larger = lanes::bits(quotient(lanes::from_bits<F>(size), lanes::from_bits<F>(a)));
    std::uint32_t most = lane<U>::at(lanes::bits(relative_), 0);
    for (int i = 0; i < lane<U>::lanes; ++i) most = lanes::max(most, lane<U>::at(larger, i));
    relative_ = lanes::from_bits<F>(lanes::broadcast<U>(most));
  }

  range range_;
  F relative_ = lanes::broadcast<F>(0);
  lane_counter<F> tiny_ = 0;  ///< finite nonzero elements that are subnormal as floats

 private:
  /// The relative error of 1 + gap / 2. If a format has a zero, rounding moves no number by more
  /// than itself.
  template <bool HasSmall>
  static constexpr float most_relative = [] {
    if (HasSmall) return 1.0f;
    constexpr double most = 1 / (static_cast<double>(1u << limits::digits) + 1);
    constexpr auto nearest = static_cast<float>(most);
    return lanes::from_bits<float>(lanes::bits(nearest) +
                                   (static_cast<double>(nearest) < most ? 1 : 0));
  }();

  /// Returns a / b, rounded up; 0 if both are 0.
  LOWP_FN static F quotient(F const& a, F const& b) {
    F const nearest = lanes::div(a, b);
    M const is_below = is_negative(lanes::fma(nearest, b, lanes::negative(a)));
    U const up = lanes::bits(nearest) + 1;
    return lanes::from_bits<F>(lanes::select(lanes::is_zero(a), lanes::broadcast<U>(0),
                                             lanes::select(is_below, up, lanes::bits(nearest))));
  }

  unsound_counts<U> unsound_;
  lane_counter<F> subnormal_ = 0, flushed_ = 0;
};

LOWP_EXACT_END

}  // namespace detail

}  // namespace lowp
