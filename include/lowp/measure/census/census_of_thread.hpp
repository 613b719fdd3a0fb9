// SPDX-License-Identifier: Apache-2.0
// A census in a GPU's threads, for a `Thread` as in cuda/kernel.hpp. A warp counts exponents as
// exponent_tally.hpp does: an exponent is one bit of a word, and words are added bit by bit.
#pragma once

#include <lowp/measure/census/census_lanes.hpp>
#include <lowp/report/warp_sums.hpp>

namespace lowp::detail {

/// Exponent fields of the magnitudes of a warp's threads, within a window of 32.
class warp_tally {
 public:
  using range = magnitude_range<std::uint32_t>;

  /// Counts the fields of a tile's group `number` of eight magnitudes, which have this range. All
  /// threads of the warp call this.
  LOWP_FN void add(auto const& thread, std::uint32_t* counters, std::uint32_t const (&a)[8],
                   range const& seen, int number, bool is_last) {
    if (number == 0 && groups_ > most_groups - most_of_tile) {
      count(thread, counters);
      groups_ = 0;
      align(thread, seen.largest());
    }
    if (is_last) groups_ += number + 1;
    std::uint32_t bit[8];
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < 8; ++k) bit[k] = bit_of((a[k] >> 23) - first_);
    carry_up<low_digits>(carry_of<low_digits>(bit), number, is_last);
  }
  /// Returns true if numbers of this range lie outside the window.
  LOWP_FN bool misses(range const& seen) const {
    return seen.has_from((first_ + 32) << 23) || seen.has_below(first_ << 23);
  }
  /// Adds these to the block's counters, one by one.
  template <class Thread>
  LOWP_FN void add_missed(Thread const&, std::uint32_t* counters,
                          std::uint32_t const (&a)[8]) const {
    LOWP_UNROLL_ON_GPU
    for (std::uint32_t const each : a)
      if ((each >> 23) - first_ >= 32 && each != 0 && each < lanes::binary32_infinity)
        typename Thread::atomics{}.add(counters[each >> 23], std::uint32_t{1});
  }
  /// Adds the warp's counts to the block's counters. All threads of the warp call this.
  template <class Thread>
  LOWP_FN void count(Thread const& thread, std::uint32_t* counters) {
    unsigned const number = warp<Thread>{thread}.number();
    std::uint32_t total = 0;
    LOWP_UNROLL_ON_GPU
    for (int i = 0; i < digits; ++i) {
      total += static_cast<std::uint32_t>(__builtin_popcount(transposed(thread, digit_[i]))) << i;
      digit_[i] = 0;
    }
    if (total != 0) typename Thread::atomics{}.add(counters[first_ + number], total);
  }

 private:
  static constexpr int low_digits = 3, digits = 9, most_groups = (1 << (digits - low_digits)) - 1,
                       most_of_tile = 4;

  /// Aligns the window with the warp's largest magnitude. Others are rarely much larger.
  template <class Thread>
  LOWP_FN void align(Thread const& thread, std::uint32_t largest) {
    constexpr std::uint32_t above = 4, fields = 255;
    largest = warp<Thread>{thread}.template max_among<1, 32>(largest);
    std::uint32_t const end = lanes::min((largest >> 23) + above, fields);
    first_ = end > 32 ? end - 32 : 1;  // zeros, of field 0, do not count
  }
  /// Returns 2^number; 0 from 32 on, as an instruction of a GPU does.
  LOWP_FN static std::uint32_t bit_of(std::uint32_t number) {
#if defined(__CUDA_ARCH__)
    std::uint32_t bit;
    asm("shl.b32 %0, 1, %1;" : "=r"(bit) : "r"(number));
    return bit;
#else
    return number < 32 ? std::uint32_t{1} << number : 0;
#endif
  }
  /// Adds 2^Digits words. Returns the carry.
  template <int Digits>
  LOWP_FN std::uint32_t carry_of(std::uint32_t const* word) {
    if constexpr (Digits == 0) {
      return *word;
    } else {
      std::uint32_t const first = carry_of<Digits - 1>(word),
                          second = carry_of<Digits - 1>(word + (1 << (Digits - 1)));
      std::uint32_t& digit = digit_[Digits - 1];
      std::uint32_t const carry = (first & second) | (digit & (first | second));
      digit = digit ^ first ^ second;
      return carry;
    }
  }
  /// Adds a carry to a digit. Groups 0 and 1, 2 and 3, ... add theirs together, in all digits.
  template <int Digit>
  LOWP_FN void carry_up(std::uint32_t carry, int number, bool is_last) {
    if constexpr (Digit < digits) {
      std::uint32_t& digit = digit_[Digit];
      if (number % 2 != 0 || is_last) {
        std::uint32_t const other = number % 2 != 0 ? waiting_[Digit - low_digits] : 0;
        std::uint32_t const both = (carry & other) | (digit & (carry | other));
        digit = digit ^ carry ^ other;
        carry_up<Digit + 1>(both, number / 2, is_last);
      } else {
        waiting_[Digit - low_digits] = carry;
      }
    }
  }
  /// Returns bit n of the words of all threads, in thread n.
  template <int Distance = 16, class Thread>
  LOWP_FN static std::uint32_t transposed(Thread const& thread, std::uint32_t word) {
    constexpr std::uint32_t low = 0xffffffff / ((std::uint64_t{1} << Distance) + 1);
    std::uint32_t const other = thread.template exchanged<Distance>(word);
    word = warp<Thread>{thread}.is_upper(Distance) ? (word & ~low) | (other >> Distance & low)
                                                   : (word & low) | (other << Distance & ~low);
    if constexpr (Distance > 1) return transposed<Distance / 2>(thread, word);
    return word;
  }

  std::uint32_t digit_[digits] = {}, waiting_[digits - low_digits];
  std::uint32_t first_ = 1;
  int groups_ = most_groups;
};

LOWP_EXACT_BEGIN

/// The census of one GPU thread. A warp's threads count a group of eight elements each together.
template <census_target To>
class census_of_thread : census_lanes<To, float> {
  using base = census_lanes<To, float>;
  using U = std::uint32_t;

 public:
  static constexpr bool sums_by_warps = true, sees_groups = true;
  static constexpr unsigned bins = exponent_histogram::bins;

  /// Sets element k of the group, or none.
  LOWP_FN void set(int k, bool is_element, float x) {
    U const a = is_element ? lanes::magnitude(x) : 0;
    ones_ |= a;
    a_[k] = lanes::hidden(a);
  }
  LOWP_FN void fold(auto const& thread, int number, bool is_last) {
    std::uint32_t* const counters = thread.template counters<bins>();
    typename base::range range = range_of_group();
    tally_.add(thread, counters, a_, range, number, is_last);
    if (range.has_from(base::borders.overflow) || tally_.misses(range)) {
      tally_.add_missed(thread, counters, a_);
      LOWP_UNROLL_ON_GPU
      for (U& a : a_) a = this->add_rare(a);
      range = range_of_group();
    }
    this->range_.add(range);
    bool const has_small = range.has_below(base::least_normal);
    if (has_small) {
      LOWP_UNROLL_ON_GPU
      for (U const a : a_) this->add_small(a);
    }
    if (range.has_below(base::borders.kept)) {
      LOWP_UNROLL_ON_GPU
      for (U const a : a_) this->add_flushed(a);
    }
    // Numbers that end in zeros have no error, unless they are small.
    bool is_larger = false;
    if (has_small || (ones_ & (base::gap - 1)) != 0) {
      // Else some thread of a warp has small numbers, and all wait for it.
      constexpr bool is_often_normal = base::least_normal <= (127 - 10) << 23;
      is_larger =
          is_often_normal && !has_small ? add_errors<false>(range) : add_errors<true>(range);
    }
    if (thread.any_of_warp(is_larger)) share_largest(thread);
    ones_ = 0;
  }
  /// Adds the exponents of the warp to the block's counters.
  LOWP_FN void finish(auto const& thread) {
    tally_.count(thread, thread.template counters<bins>());
  }
  LOWP_FN basic_census total(std::uint64_t count) const {
    basic_census partial = base::total(count);
    partial.squared_error += squares_;
    return partial;
  }

 private:
  LOWP_FN typename base::range range_of_group() const {
    typename base::range range;
    LOWP_UNROLL_ON_GPU
    for (U const a : a_) range.add(a);
    return range;
  }
  /// Returns true if an error is larger than the largest relative error.
  template <bool HasSmall>
  LOWP_FN bool add_errors(typename base::range const& range) {
    float error[8];
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < 8; ++k) error[k] = base::template error_of<HasSmall>(a_[k]);
    add_squares(error, range);
    if (!this->template may_find_larger<HasSmall>()) return false;
    U below = 0;
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < 8; ++k)
      below |= lanes::bits(this->below_error(a_[k], lanes::magnitude(error[k])));
    return lanes::greater(U{0}, below);
  }
  /// Compares all errors, and shares the largest relative one with the warp: it finds fewer larger
  /// ones than each thread would.
  template <class Thread>
  LOWP_FN void share_largest(Thread const& thread) {
    LOWP_UNROLL_ON_GPU
    for (U const a : a_) this->compare_error(a, base::template error_of<true>(a));
    this->relative_ = lanes::from_bits<float>(
        warp<Thread>{thread}.template max_among<1, 32>(lanes::bits(this->relative_)));
  }
  /// A float has room for the squares of 8 errors below 2^60. Those below 2^-60 may underflow. The
  /// error of a sum of 8 is below 8 * 2^-24 of it.
  LOWP_FN void add_squares(float const (&error)[8], typename base::range const& range) {
    constexpr U least = (127 - 60) << 23, most = (127 + 60) << 23;
    float sum = 0;
    // An error other than zero is at least the last place of its number.
    if (!range.has_below(least + (23 << 23)) && !range.has_from(most)) {
      LOWP_UNROLL_ON_GPU
      for (float const each : error) sum = lanes::fma(each, each, sum);
    } else {
      LOWP_UNROLL_ON_GPU
      for (float const each : error) {
        U const size = lanes::hidden(lanes::magnitude(each));
        if (size - least < most - least)
          sum = lanes::fma(each, each, sum);
        else if (size != 0)
          squares_ = lanes::add_product(squares_, lanes::widen(each), lanes::widen(each));
      }
    }
    squares_ = lanes::add(squares_, lanes::widen(sum));
  }

  U a_[8], ones_ = 0;  ///< magnitudes, and all their bits
  warp_tally tally_;
  double squares_ = 0;
};

LOWP_EXACT_END

template <census_target To>
struct lanes_of_report<census_report<To>, float> : std::type_identity<census_of_thread<To>> {};

}  // namespace lowp::detail
