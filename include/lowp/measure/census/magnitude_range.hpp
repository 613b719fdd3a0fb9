// SPDX-License-Identifier: Apache-2.0
// The largest and the least of magnitudes in lanes.
#pragma once

#include <lowp/lanes/lanes.hpp>
#include <lowp/measure/census/census_report.hpp>

#include <cstdint>

namespace lowp::detail {

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
  template <class T>
  LOWP_FN static constexpr T key(T const& a) {
    return a + (lanes::binary32_sign - 1);
  }

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

}  // namespace lowp::detail
