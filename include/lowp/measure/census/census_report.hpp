// SPDX-License-Identifier: Apache-2.0
// Reports of a tensor before it is stored in another format. They give its range, the losses at
// both ends of the target's range, and the rounding errors.
#pragma once

#include <lowp/format/basic_float.hpp>
#include <lowp/report/amax.hpp>

namespace lowp {

/// The smallest |x| seen; infinity if none was. All zero bytes have seen none.
struct amin {
  std::uint32_t below_infinity = 0;  ///< distance of its bits below those of infinity

  LOWP_FN constexpr float value() const {
    return __builtin_bit_cast(float, lanes::binary32_infinity - below_infinity);
  }

  template <class Atomics = detail::alone>
  LOWP_FN constexpr void add(amin const& other, Atomics const& atomics = {}) {
    atomics.max(below_infinity, other.below_infinity);
  }
};

/// Numbers of elements by binary exponent e, 2^e <= |x| < 2^(e + 1). Elements below 2^-126, which
/// are subnormal as floats, count as exponent -127.
struct exponent_histogram {
  static constexpr int lowest = -127, highest = 127, bins = highest - lowest + 1;

  std::uint64_t counts[bins] = {};  ///< counts of lowest, lowest + 1, ...

  LOWP_FN constexpr std::uint64_t operator[](int exponent) const {
    return exponent > highest ? 0 : counts[exponent < lowest ? 0 : exponent - lowest];
  }
  LOWP_FN constexpr std::uint64_t total() const {
    std::uint64_t all = 0;
    for (std::uint64_t const each : counts) all += each;
    return all;
  }
  LOWP_FN constexpr exponent_histogram& operator+=(exponent_histogram const& other) {
    for (int i = 0; i < bins; ++i) counts[i] += other.counts[i];
    return *this;
  }
};

/// The counts of a census, without the exponents.
struct basic_census {
  std::uint64_t count = 0;      ///< elements seen
  std::uint64_t nan = 0;        ///< NaN elements
  std::uint64_t infinite = 0;   ///< infinite elements of either sign
  std::uint64_t overflow = 0;   ///< finite elements, beyond the largest finite value once rounded
  std::uint64_t subnormal = 0;  ///< elements that are subnormal in the format once rounded
  std::uint64_t flushed = 0;    ///< nonzero elements that are zero once rounded; not in `subnormal`
  amax max_abs;                 ///< largest of the finite elements; 0 if all are zero
  amin min_abs;                 ///< smallest of the finite nonzero elements
  /// The largest |rounded - x| / |x| of the nonzero elements that stay finite, rounded up to a
  /// float. It is 1 if any was flushed.
  amax max_relative_error;
  /// Sum over the elements that stay finite, within a relative 1e-6.
  exact_square_sum squared_error;

  /// Returns the number of elements that stay finite once rounded, zeros included.
  LOWP_FN constexpr std::uint64_t kept() const { return count - nan - infinite - overflow; }
  /// Returns the mean of (rounded - x)^2 over those; 0 if there are none.
  LOWP_FN double mean_square_error() const {
    return detail::quotient(squared_error.value(), kept(), 0);
  }

  template <class Atomics = detail::alone>
  LOWP_FN void add(basic_census const& other, Atomics const& atomics = {}) {
    atomics.add(count, other.count);
    atomics.add(nan, other.nan);
    atomics.add(infinite, other.infinite);
    atomics.add(overflow, other.overflow);
    atomics.add(subnormal, other.subnormal);
    atomics.add(flushed, other.flushed);
    max_abs.add(other.max_abs, atomics);
    min_abs.add(other.min_abs, atomics);
    max_relative_error.add(other.max_relative_error, atomics);
    squared_error.add(other.squared_error, atomics);
  }
};

/// Counts, range and rounding errors of the elements of one or more tensors. The rounding is to
/// nearest even in the format of the census. Counts and range are exact on every executor. All zero
/// bytes are an empty census.
struct range_census : basic_census {
  exponent_histogram exponents;  ///< exponents of the finite nonzero elements

  /// Returns the number of zeros of either sign.
  LOWP_FN constexpr std::uint64_t zeros() const {
    return count - nan - infinite - exponents.total();
  }

  using basic_census::add;
  LOWP_FN void add(range_census const& other, detail::alone = {}) {
    basic_census::add(other);
    exponents += other.exponents;
  }
  /// Adds to the histogram, whose exponents are counted apart.
  LOWP_FN void add_to_bin(unsigned bin, std::uint64_t many, auto const& atomics) {
    atomics.add(exponents.counts[bin], many);
  }
};

namespace detail {

/// Counts of magnitudes, as bits, that are NaN, infinite, or finite and beyond a border.
template <class U>
struct unsound_counts {
  std::uint64_t nan = 0, infinite = 0, finite = 0;

  /// Returns the mask of magnitudes not below the border. If there are none, it only compares once.
  LOWP_FN auto add(U const& a, std::uint32_t border) {
    auto const beyond = lanes::greater(a, lanes::broadcast<U>(border - 1));
    if (!lanes::any(beyond)) return beyond;
    constexpr std::uint32_t infinity = lanes::binary32_infinity;
    std::uint32_t const nans = lanes::count(lanes::greater(a, lanes::broadcast<U>(infinity)));
    std::uint32_t const special =
        lanes::count(lanes::greater(a, lanes::broadcast<U>(infinity - 1)));
    nan += nans;
    infinite += special - nans;
    finite += lanes::count(beyond) - special;
    return beyond;
  }
};

/// The largest of the magnitudes of floats, as bits, and the least that is not zero.
template <class U>
class magnitude_range {
 public:
  LOWP_FN void add(U const& a) {
    largest_ = lanes::max(largest_, a);
    least_ = lanes::min(least_, key(a));
  }
  LOWP_FN void add(magnitude_range const& other) {
    largest_ = lanes::max(largest_, other.largest_);
    least_ = lanes::min(least_, other.least_);
  }
  /// Returns a key that orders magnitudes, but with zero last.
  LOWP_FN static constexpr auto key(auto const& a) { return a + (lanes::binary32_sign - 1); }

  /// Counts the magnitudes below the border, zeros excluded.
  LOWP_FN static std::uint32_t count_below(std::uint32_t border, U const& a) {
    return lanes::count(lanes::greater(lanes::broadcast<U>(key(border)), key(a)));
  }

  LOWP_FN U largest() const { return largest_; }
  LOWP_FN bool has_from(std::uint32_t border) const {
    return lanes::any(lanes::greater(largest_, lanes::broadcast<U>(border - 1)));
  }
  /// Returns true if a magnitude other than zero is below the border.
  LOWP_FN bool has_below(std::uint32_t border) const {
    return border > 1 && lanes::any(lanes::greater(lanes::broadcast<U>(key(border)), least_));
  }
  LOWP_FN void add_to(amax& largest, amin& least) const {
    for (int i = 0; i < lane<U>::lanes; ++i) {
      largest += amax{lane<U>::at(largest_, i)};
      std::uint32_t const magnitude = lane<U>::at(least_, i) - key(std::uint32_t{0});
      if (magnitude != 0) least += amin{lanes::binary32_infinity - magnitude};
    }
  }

 private:
  U largest_ = lanes::broadcast<U>(0), least_ = lanes::broadcast<U>(key(std::uint32_t{0}));
};

}  // namespace detail

}  // namespace lowp
