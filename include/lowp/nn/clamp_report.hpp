// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/format/math.hpp>
#include <lowp/measure/census/magnitude_range.hpp>
#include <lowp/report/exact_sum.hpp>
#include <lowp/report/lanes.hpp>

#include <concepts>
#include <cstdint>
#include <limits>

namespace lowp {

/// A format for clamp_overflow: it overflows to infinity, and 1000 is a small part of its range.
template <class T>
concept clampable = element<T> && std::numeric_limits<T>::has_infinity &&
                    (std::same_as<T, float> || std::numeric_limits<T>::max_exponent >= 13);

/// The largest finite value less 1000, to nearest in T: 64512 in float16, whose values from 32768
/// to 65504 are 32 apart. In float8_e5m2, bfloat16 and float it is the largest finite value itself.
template <clampable T>
inline constexpr T clamp_limit = [] {
  if constexpr (std::same_as<T, float>) {
    return std::numeric_limits<float>::max();
  } else {
    float const max = convert<float>(detail::from_code<T>(T::descriptor.max_code()));
    return convert<T>(static_cast<double>(max) - 1000);
  }
}();

/// Counts over the elements of a range before a clamp. All zero bytes are an empty report.
struct clamp_report {
  std::uint64_t count = 0;     ///< elements seen
  std::uint64_t nan = 0;       ///< NaN elements, which stay
  std::uint64_t infinite = 0;  ///< infinite elements of either sign
  std::uint64_t beyond = 0;    ///< finite elements of greater magnitude than clamp_limit

  /// Returns the number of changed elements: 0 if none was infinite.
  LOWP_FN constexpr std::uint64_t clamped() const { return infinite == 0 ? 0 : infinite + beyond; }

  /// Merges a report, alone or while other threads merge.
  template <class Atomics = detail::alone>
  LOWP_FN constexpr void add(clamp_report const& other, Atomics const& atomics = {}) {
    atomics.add(count, other.count);
    atomics.add(nan, other.nan);
    atomics.add(infinite, other.infinite);
    atomics.add(beyond, other.beyond);
  }
};

/// A clamp_report of elements of T. Operations add to it in place.
template <clampable T>
struct clamp_report_of : clamp_report {};

namespace detail {

template <clampable T, class F>
class clamp_lanes {
  static constexpr std::uint32_t limit = lanes::bits(convert<float>(clamp_limit<T>));

 public:
  LOWP_FN void add(F const& x) { unsound_.add(lanes::magnitude(x), limit + 1); }
  LOWP_FN void fold() {}
  LOWP_FN clamp_report total(std::uint64_t count) const {
    return {count, unsound_.nan, unsound_.infinite, unsound_.finite};
  }

 private:
  unsound_counts<lanes::word<F>> unsound_;
};

template <clampable T, class F>
struct lanes_of_report<clamp_report_of<T>, F> {
  using type = clamp_lanes<T, F>;
  using partial = clamp_report;
};

}  // namespace detail

}  // namespace lowp
