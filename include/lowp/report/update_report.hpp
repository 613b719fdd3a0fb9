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

/// What one loop, or one thread of a GPU, has seen.
struct partial_report {
  std::uint64_t count = 0, stalled = 0, overflowed = 0, nonfinite = 0;
  compensated_sum applied, requested;

  LOWP_FN partial_report& operator+=(partial_report const& other) {
    count += other.count;
    stalled += other.stalled;
    overflowed += other.overflowed;
    nonfinite += other.nonfinite;
    applied += other.applied;
    requested += other.requested;
    return *this;
  }
};

}  // namespace detail

/// Counts and sums over the elements of one or more updates, each of which wanted to add u to a
/// parameter and took it from `old` to `new`. All zero bytes are an empty report.
struct update_report {
  std::uint64_t count = 0;       ///< elements seen
  std::uint64_t stalled = 0;     ///< u is not zero and the stored code did not change
  std::uint64_t overflowed = 0;  ///< a finite result, once rounded, was beyond the largest finite
  std::uint64_t nonfinite = 0;   ///< u, old or new is infinite or NaN; in no sum below
  exact_sum applied;             ///< of sign(u) * (new - old)
  exact_sum requested;           ///< of |u|

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

  /// Adds what one loop has seen, beside other threads or alone.
  template <class Atomics = detail::alone>
  LOWP_FN void add(detail::partial_report const& part, Atomics const& atomics = {}) {
    atomics.add(count, part.count);
    atomics.add(stalled, part.stalled);
    atomics.add(overflowed, part.overflowed);
    atomics.add(nonfinite, part.nonfinite);
    applied.add(part.applied.high, atomics);
    applied.add(part.applied.low, atomics);
    requested.add(part.requested.high, atomics);
    requested.add(part.requested.low, atomics);
  }
};

}  // namespace lowp
