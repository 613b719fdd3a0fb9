// SPDX-License-Identifier: Apache-2.0
// The census of one GPU thread. Its block counts the exponents.
#pragma once

#include <lowp/measure/census/census_lanes.hpp>

#include <cstdint>

namespace lowp::detail {

LOWP_EXACT_BEGIN

template <census_target To>
class census_of_thread : census_lanes<To, float> {
  using base = census_lanes<To, float>;

 public:
  static constexpr unsigned bins = exponent_histogram::bins;

  /// Returns the histogram's bin for x; a negative number if x has none.
  LOWP_FN static int bin(float x) {
    std::uint32_t const a = lanes::hidden(lanes::magnitude(x));
    return a == 0 || a >= lanes::binary32_infinity ? -1 : static_cast<int>(a >> 23);
  }
  LOWP_FN void add(float x) {
    std::uint32_t a = lanes::hidden(lanes::magnitude(x));
    // Subtraction wraps those below the normal ones to large ones, so one comparison does.
    if (a - base::least_normal >= base::borders.overflow - base::least_normal) {
      a = this->add_rare(a);
      this->add_small(a);
    }
    this->range_.add(a);
    float const error = base::template error_of<true>(a);
    this->compare_error(a, error);
    // A float has room for the squares of 8 errors below 2^60. Those below 2^-60 may underflow.
    constexpr std::uint32_t least = (127 - 60) << 23, most = (127 + 60) << 23;
    std::uint32_t const size = lanes::hidden(lanes::magnitude(error));
    if (size - least < most - least)
      sum_ = lanes::fma(error, error, sum_);
    else if (size != 0)
      squares_ = lanes::add_product(squares_, lanes::widen(error), lanes::widen(error));
  }
  /// Ends a chunk of 8 elements: the error of their sum is below 8 * 2^-24 of it.
  LOWP_FN void end_batch() {
    squares_ = lanes::add(squares_, lanes::widen(sum_));
    sum_ = 0;
  }
  LOWP_FN basic_census total(std::uint64_t count) const {
    basic_census partial = base::total(count);
    partial.squared_error += squares_;
    return partial;
  }

 private:
  float sum_ = 0;
  double squares_ = 0;
};
template <census_target To>
struct lanes_of_report<census_report<To>, float> {
  using type = census_of_thread<To>;
  using partial = basic_census;
};

LOWP_EXACT_END

}  // namespace lowp::detail
