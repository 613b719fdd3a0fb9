// SPDX-License-Identifier: Apache-2.0
// What an update did to its parameters.
#pragma once

#include <lowp/report/exact_sum.hpp>

#include <cstdint>

namespace lowp {

namespace detail {

LOWP_EXACT_BEGIN
inline namespace LOWP_UNIT {
/// high + low += x, keeping what each addition loses (two-sum: D. Knuth, TAOCP 2, 4.2.2).
#if defined(__CUDA_ARCH__)
LOWP_FN
#else
LOWP_HOST_DEVICE LOWP_OPAQUE inline
#endif
void accumulate(double& high, double& low, double x) {
  double const sum = high + x;
  double const part = sum - high;
  low += (high - (sum - part)) + (x - part);
  high = sum;
}
}  // namespace LOWP_UNIT
LOWP_EXACT_END

/// A sum in twice the precision of double.
struct compensated_sum {
  double high = 0, low = 0;

  LOWP_FN compensated_sum& operator+=(double x) {
    accumulate(high, low, x);
    return *this;
  }
  LOWP_FN compensated_sum& operator+=(compensated_sum const& other) {
    return (*this += other.high) += other.low;
  }
};

// What one loop or one thread of a GPU has summed up, and what is made of all of these, differ in how
// they hold a sum: see the reports.
LOWP_FN void merge(compensated_sum& sum, compensated_sum const& other, alone const&) {
  sum += other;
}
template <int Unit, int Words>
LOWP_FN void merge(basic_exact_sum<Unit, Words>& sum, basic_exact_sum<Unit, Words> const& other,
                   alone const&) {
  sum += other;
}
template <int Unit, int Words, class Atomics>
LOWP_FN void merge(basic_exact_sum<Unit, Words>& sum, compensated_sum const& other,
                   Atomics const& atomics) {
  sum.add(other.high, atomics);
  sum.add(other.low, atomics);
}

}  // namespace detail

/// Counts and sums over the elements of one or more updates, each of which wanted to add u to a
/// parameter and took it from `old` to `new`. All zero bytes are an empty report.
template <class Sum>
struct basic_update_report {
  std::uint64_t count = 0;       ///< elements seen
  std::uint64_t stalled = 0;     ///< u is not zero and the stored code did not change
  std::uint64_t overflowed = 0;  ///< a finite result, once rounded, was beyond the largest finite
  std::uint64_t nonfinite = 0;   ///< u, old, new or new - old is infinite or NaN; in no sum below
  Sum applied;                   ///< of sign(u) * (new - old)
  Sum requested;                 ///< of |u|

  /// 1 is faithful, 0 is frozen; 1 where nothing was to be applied.
  LOWP_FN double applied_ratio() const {
    double const whole = requested.value();
    return whole == 0 ? 1 : applied.value() / whole;
  }

  /// Merges the report of another shard or tensor.
  LOWP_FN basic_update_report& operator+=(basic_update_report const& other) {
    add(other);
    return *this;
  }

  /// Adds what one loop has seen, beside other threads or alone.
  template <class Other, class Atomics = detail::alone>
  LOWP_FN void add(basic_update_report<Other> const& other, Atomics const& atomics = {}) {
    atomics.add(count, other.count);
    atomics.add(stalled, other.stalled);
    atomics.add(overflowed, other.overflowed);
    atomics.add(nonfinite, other.nonfinite);
    detail::merge(applied, other.applied, atomics);
    detail::merge(requested, other.requested, atomics);
  }
};
using update_report = basic_update_report<exact_sum>;

namespace detail {
/// What one loop, or one thread of a GPU, has seen.
using partial_report = basic_update_report<compensated_sum>;
}  // namespace detail

}  // namespace lowp
