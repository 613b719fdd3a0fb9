// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/base/environment.hpp>
#include <lowp/lanes/scalar_lanes.hpp>
#include <lowp/report/exact_sum.hpp>

namespace lowp::detail {

LOWP_EXACT_BEGIN
inline namespace LOWP_UNIT {
LOWP_OPAQUE_FN double plain_quotient(auto a, auto b, double otherwise) {
  return b > 0 ? static_cast<double>(a) / static_cast<double>(b) : otherwise;
}
LOWP_OPAQUE_FN double plain_root(double x) { return lane<double>::sqrt(x); }
/// Adds x to high + low and keeps what each addition loses (two-sum: D. Knuth, TAOCP 2, 4.2.2).
LOWP_OPAQUE_FN void accumulate(double& high, double& low, double x) {
  double const sum = high + x;
  double const part = sum - high;
  low += (high - (sum - part)) + (x - part);
  high = sum;
}
}  // namespace LOWP_UNIT
LOWP_EXACT_END

/// Returns a / b if b is above 0, else `otherwise`.
LOWP_FN double quotient(auto a, auto b, double otherwise) {
  default_environment const environment;
  return plain_quotient(a, b, otherwise);
}
LOWP_FN double root(double x) {
  default_environment const environment;
  return plain_root(x);
}

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

// The partial of a loop or of a GPU thread holds compensated sums; a report holds exact ones.
template <class Sum>
LOWP_FN void merge(Sum& sum, Sum const& other, alone const&) {
  sum += other;
}
template <int Unit, int Words, class Atomics>
LOWP_FN void merge(basic_exact_sum<Unit, Words>& sum, compensated_sum const& other,
                   Atomics const& atomics) {
  sum.add(other.high, atomics);
  sum.add(other.low, atomics);
}

}  // namespace lowp::detail

namespace lowp {

/// Counts and sums over the elements of one or more updates. Each update requested u for a
/// parameter and changed it from `old` to `new`. All zero bytes are an empty report.
///
/// A sum errs by at most 2^-21 of its terms' magnitudes. Groups of 256 elements of a call are
/// summed in float, in the same order everywhere, and then exactly. So a call gives the same bits
/// on every backend, number of threads and GPU.
struct update_report {
  std::uint64_t count = 0;       ///< elements seen
  std::uint64_t stalled = 0;     ///< u is not zero and the stored code did not change
  std::uint64_t overflowed = 0;  ///< a finite result rounded to beyond the largest finite value
  /// Elements in no sum below: u, old, new, new - old or a moment, as stored, is infinite or NaN.
  /// An infinite second moment stops its weight for good. One that becomes 0 is finite and makes
  /// steps too long: moment_report counts its lost changes.
  std::uint64_t nonfinite = 0;
  exact_sum applied;    ///< the sum of sign(u) * (new - old)
  exact_sum requested;  ///< the sum of |u|

  /// Returns the part of the requested updates that was applied: 1 is faithful, 0 is frozen.
  /// Returns 1 if nothing was requested.
  LOWP_FN double applied_ratio() const {
    return detail::quotient(applied.value(), requested.value(), 1);
  }

  template <class Atomics = detail::alone>
  LOWP_FN void add(update_report const& other, Atomics const& atomics = {}) {
    atomics.add(count, other.count);
    atomics.add(stalled, other.stalled);
    atomics.add(overflowed, other.overflowed);
    atomics.add(nonfinite, other.nonfinite);
    applied.add(other.applied, atomics);
    requested.add(other.requested, atomics);
  }
};

}  // namespace lowp
