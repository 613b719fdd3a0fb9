// SPDX-License-Identifier: Apache-2.0
// What there is to know about a tensor before it is stored in another format: range, what would be
// lost at either end of the target's range, and rounding errors.
#pragma once

#include <lowp/format/basic_float.hpp>
#include <lowp/report/amax.hpp>
#include <lowp/report/exact_sum.hpp>
#include <lowp/report/lanes.hpp>

#include <cstdint>

namespace lowp {

/// The smallest |x| seen: infinity if none was. All zero bytes have seen none.
struct amin {
  std::uint32_t below_infinity = 0;  ///< how far its bits are below those of infinity

  LOWP_FN constexpr float value() const {
    return __builtin_bit_cast(float, lanes::binary32_infinity - below_infinity);
  }

  /// Merges that of another shard.
  LOWP_FN constexpr amin& operator+=(amin const& other) {
    add(other);
    return *this;
  }
  /// The same, beside other threads or alone.
  template <class Atomics = detail::alone>
  LOWP_FN constexpr void add(amin const& other, Atomics const& atomics = {}) {
    atomics.max(below_infinity, other.below_infinity);
  }
};

/// How many numbers there are of each binary exponent e, 2^e <= |x| < 2^(e + 1). What is below
/// 2^-126, and so subnormal as a float, is counted as of exponent -127.
struct exponent_histogram {
  static constexpr int lowest = -127, highest = 127, bins = highest - lowest + 1;

  std::uint64_t counts[bins] = {};  ///< of lowest, lowest + 1, ...

  LOWP_FN constexpr std::uint64_t operator[](int exponent) const {
    return exponent > highest ? 0 : counts[exponent < lowest ? 0 : exponent - lowest];
  }
  /// All that were counted.
  LOWP_FN constexpr std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (std::uint64_t const each : counts) sum += each;
    return sum;
  }
  LOWP_FN constexpr exponent_histogram& operator+=(exponent_histogram const& other) {
    for (int i = 0; i < bins; ++i) counts[i] += other.counts[i];
    return *this;
  }
};

/// The counts of a census, but for the exponents.
template <class Sum>
struct basic_census {
  std::uint64_t count = 0;      ///< elements seen
  std::uint64_t nan = 0;        ///< NaN
  std::uint64_t infinite = 0;   ///< of either sign
  std::uint64_t overflow = 0;   ///< finite, and beyond the largest finite value once rounded
  std::uint64_t subnormal = 0;  ///< subnormal in the format once rounded
  std::uint64_t flushed = 0;    ///< not zero, and zero once rounded; not in `subnormal`
  amax max_abs;                 ///< of the finite elements; 0 if all are zero
  amin min_abs;                 ///< of the finite elements that are not zero
  /// The largest |rounded - x| / |x|, rounded up to a float, of the elements that stay finite and are not
  /// zero: 1 where any was flushed.
  amax max_relative_error;
  Sum squared_error;  ///< of the elements that stay finite, within a relative 2^-48

  /// The elements that stay finite once rounded, zeros among them.
  LOWP_FN constexpr std::uint64_t kept() const { return count - nan - infinite - overflow; }
  /// Mean of (rounded - x)^2 over those; 0 where there are none.
  LOWP_FN double mean_square_error() const {
    return kept() == 0 ? 0 : squared_error.value() / static_cast<double>(kept());
  }

  LOWP_FN basic_census& operator+=(basic_census const& other) {
    add(other);
    return *this;
  }
  /// Adds what one loop has seen, beside other threads or alone.
  template <class Other, class Atomics = detail::alone>
  LOWP_FN void add(basic_census<Other> const& other, Atomics const& atomics = {}) {
    atomics.add(count, other.count);
    atomics.add(nan, other.nan);
    atomics.add(infinite, other.infinite);
    atomics.add(overflow, other.overflow);
    atomics.add(subnormal, other.subnormal);
    atomics.add(flushed, other.flushed);
    max_abs.add(other.max_abs, atomics);
    min_abs.add(other.min_abs, atomics);
    max_relative_error.add(other.max_relative_error, atomics);
    detail::merge(squared_error, other.squared_error, atomics);
  }
};

/// Counts, range and rounding errors of the elements of one or more tensors, were they rounded to
/// nearest even in the format that the census was taken for. All counts are exact, and the same
/// wherever they are taken. All zero bytes are a census of nothing.
struct range_census : basic_census<exact_square_sum> {
  exponent_histogram exponents;  ///< of the finite elements that are not zero

  /// Zeros of either sign.
  LOWP_FN constexpr std::uint64_t zeros() const {
    return count - nan - infinite - exponents.total();
  }

  /// Merges the census of another shard or tensor.
  LOWP_FN range_census& operator+=(range_census const& other) {
    add(other);
    exponents += other.exponents;
    return *this;
  }
  /// To the histogram, whose exponents are counted apart.
  template <class Atomics>
  LOWP_FN void add_to_bin(unsigned bin, std::uint64_t many, Atomics const& atomics) {
    atomics.add(exponents.counts[bin], many);
  }
};

namespace detail {
/// What one loop, or one thread of a GPU, has seen.
using partial_census = basic_census<compensated_sum>;
}  // namespace detail

}  // namespace lowp
