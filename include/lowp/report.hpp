// SPDX-License-Identifier: Apache-2.0
// What an update did to its parameters.
#pragma once

#include <lowp/config.hpp>

#include <cstdint>

namespace lowp {

namespace detail {
LOWP_EXACT_BEGIN
inline namespace LOWP_UNIT {
/// high + low += x, keeping what each addition loses (two-sum: D. Knuth, TAOCP 2, 4.2.2).
LOWP_HOST_DEVICE LOWP_OPAQUE inline void accumulate(double& high, double& low, double x) {
  double const sum = high + x;
  double const part = sum - high;
  low += (high - (sum - part)) + (x - part);
  high = sum;
}
}  // namespace LOWP_UNIT
LOWP_EXACT_END
}  // namespace detail

/// A sum in twice the precision of double.
struct compensated_sum {
  double high = 0, low = 0;

  LOWP_FN compensated_sum& operator+=(double x) {
    detail::accumulate(high, low, x);
    return *this;
  }
  LOWP_FN compensated_sum& operator+=(compensated_sum const& other) {
    return (*this += other.high) += other.low;
  }
  LOWP_FN double value() const { return high + low; }
};

/// Counts and sums over the elements of one or more updates, each of which wanted to add u to a
/// parameter and took it from `old` to `new`.
struct update_report {
  std::uint64_t count = 0;       ///< elements seen
  std::uint64_t stalled = 0;     ///< u is not zero and the stored code did not change
  std::uint64_t overflowed = 0;  ///< a finite result, once rounded, was beyond the largest finite
  std::uint64_t nonfinite = 0;   ///< u, old or new is infinite or NaN; in no sum below
  compensated_sum applied;       ///< of sign(u) * (new - old)
  compensated_sum requested;     ///< of |u|

  /// 1 is faithful, 0 is frozen; 1 where nothing was to be applied.
  LOWP_FN double applied_ratio() const {
    double const whole = requested.value();
    return whole == 0 ? 1 : applied.value() / whole;
  }

  /// Merges the report of another shard or tensor.
  LOWP_FN update_report& operator+=(update_report const& other) {
    count += other.count;
    stalled += other.stalled;
    overflowed += other.overflowed;
    nonfinite += other.nonfinite;
    applied += other.applied;
    requested += other.requested;
    return *this;
  }
};

}  // namespace lowp
