// SPDX-License-Identifier: Apache-2.0
// The census of one GPU thread. Its block counts the exponents, its warp sums squares of errors.
#pragma once

#include <lowp/measure/census/census_lanes.hpp>
#include <lowp/report/warp_sums.hpp>

#include <cstdint>

namespace lowp::detail {

LOWP_EXACT_BEGIN

template <census_target To>
class census_of_thread : census_lanes<To, float> {
  using base = census_lanes<To, float>;

 public:
  static constexpr unsigned bins = exponent_histogram::bins;
  static constexpr bool sums_by_warps = true;

  /// Returns the histogram's bin for x; a negative number if x has none.
  LOWP_FN static int bin(float x) {
    std::uint32_t const a = lanes::hidden(lanes::magnitude(x));
    return a == 0 || a >= lanes::binary32_infinity ? -1 : static_cast<int>(a >> 23);
  }
  /// Looks at element k of a chunk if it is one.
  LOWP_FN void add(int k, bool is_element, float x) {
    std::uint32_t a = is_element ? lanes::hidden(lanes::magnitude(x)) : 0;
    // Subtraction wraps those below the normal ones to large ones, so one comparison does.
    if (a - base::least_normal >= base::borders.overflow - base::least_normal) {
      a = this->add_rare(a);
      this->add_small(a);
    }
    this->range_.add(a);
    magnitudes_[k] = a;
  }
  /// Sums the squares of a warp's chunks. All of its threads call this.
  template <class Thread>
  LOWP_FN void fold(Thread const& thread) {
    warp<Thread> const team{thread};
    number_ = team.number();
    std::uint32_t signs = 0;
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < chunk; ++k) {
      errors_[k] = base::template error_of<true>(magnitudes_[k]);
      signs |= lanes::bits(this->below_error(magnitudes_[k], lanes::bits(errors_[k])));
    }
    if (signs >> 31 != 0) compare_errors();
    float sum = sum_of_squares(team);
    int exponent = 0;
    if (!census_squares::has_room(sum)) {
      census_squares const scaled(thread.template max_among<warp_size>(largest_error()));
      LOWP_UNROLL_ON_GPU
      for (float& error : errors_) error = lanes::mul(error, scaled.inverse());
      sum = sum_of_squares(team);
      exponent = 2 * scaled.exponent();
    }
    digit_.add(number_, sum, exponent + unit);
  }
  LOWP_FN basic_census total(std::uint64_t count) const {
    basic_census partial = base::total(count);
    digit_.add_to(partial.squared_error, number_);
    return partial;
  }

 private:
  static constexpr int warp_size = 32, chunk = 8;  // 256 elements
  static constexpr int unit = 298 - 149;           // of a binary32 number, in units of the sum

  LOWP_FN void compare_errors() {
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < chunk; ++k) this->compare_error(magnitudes_[k], errors_[k]);
  }
  LOWP_FN std::uint32_t largest_error() const {
    std::uint32_t largest = 0;
    LOWP_UNROLL_ON_GPU
    for (float const error : errors_)
      largest = lanes::max(largest, lanes::hidden(lanes::magnitude(error)));
    return largest;
  }
  template <class Thread>
  LOWP_FN float sum_of_squares(warp<Thread> const& team) const {
    constexpr int half = chunk / 2, distance = warp_size / 2;
    bool const is_upper = team.is_upper(distance);
    float x[half];
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < half; ++k) {
      float const low = errors_[k], high = errors_[k + half];
      float const other = team.template other<distance>(is_upper ? low : high);
      float const a = is_upper ? other : low, b = is_upper ? high : other;
      x[k] = lanes::fma(b, b, lanes::mul(a, a));
    }
    team.template halve<distance / 2, half / 2>(x);
    float const of_threads = team.template sum_of_two<1>(team.template sum_of_two<2>(x[0]));
    float const fours = team.template sum_of_two<16>(of_threads);
    return team.template sum_of_two<4>(team.template sum_of_two<8>(fours));
  }

  std::uint32_t magnitudes_[chunk];
  float errors_[chunk];
  warp_digit<32, 19, 23> digit_;
  unsigned number_ = 0;
};
template <census_target To>
struct lanes_of_report<census_report<To>, float> {
  using type = census_of_thread<To>;
  using partial = basic_census;
};

LOWP_EXACT_END

}  // namespace lowp::detail
