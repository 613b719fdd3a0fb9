// SPDX-License-Identifier: Apache-2.0
// The largest and the least of magnitudes in lanes.
#pragma once

#include <lowp/lanes/lanes.hpp>
#include <lowp/measure/census/census_report.hpp>

#include <cstdint>

namespace lowp::detail {

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
