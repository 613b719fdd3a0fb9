// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/report/exact_sum.hpp>
#include <lowp/report/lanes.hpp>

#include <cstdint>

namespace lowp {

/// Counts over the elements of one or more ranges that were multiplied by powers of two. All zero
/// bytes are an empty report.
struct scaling_report {
  std::uint64_t count = 0;       ///< elements seen
  std::uint64_t overflowed = 0;  ///< finite elements that overflow once scaled and rounded
  std::uint64_t inexact = 0;     ///< elements that lost a bit as subnormals or in a narrower format

  /// Returns true if scaling back restores every element.
  LOWP_FN constexpr bool lossless() const { return overflowed == 0 && inexact == 0; }

  /// Merges a report, alone or while other threads merge.
  template <class Atomics = detail::alone>
  LOWP_FN constexpr void add(scaling_report const& other, Atomics const& atomics = {}) {
    atomics.add(count, other.count);
    atomics.add(overflowed, other.overflowed);
    atomics.add(inexact, other.inexact);
  }
};

namespace detail {

/// Lanes whose elements overflowed or were rounded.
template <class F>
struct scaling_outcome {
  lanes::mask<F> overflowed, inexact;

  LOWP_FN friend scaling_outcome only(lanes::mask<F> const& is_element, scaling_outcome const& x) {
    return {lanes::mask_and(is_element, x.overflowed), lanes::mask_and(is_element, x.inexact)};
  }
};

template <class F>
class scaling_lanes {
 public:
  LOWP_FN void add(scaling_outcome<F> const& x) {
    overflowed_ += lanes::count(x.overflowed);
    inexact_ += lanes::count(x.inexact);
  }
  LOWP_FN void fold() {}
  LOWP_FN scaling_report total(std::uint64_t count) const { return {count, overflowed_, inexact_}; }

 private:
  std::uint64_t overflowed_ = 0, inexact_ = 0;
};

template <class F>
struct lanes_of_report<scaling_report, F> {
  using type = scaling_lanes<F>;
  using partial = scaling_report;
};

}  // namespace detail

}  // namespace lowp
