// SPDX-License-Identifier: Apache-2.0
// A histogram of exponents by a positional population count (M. Klarqvist, W. Mula, D. Lemire,
// Concurrency and Computation 33 (17), 2021). An exponent becomes one bit of a word. A lane's words
// are added bit by bit, into planes of the digits of 31 counters.
#pragma once

#include <lowp/simd/random.hpp>

namespace lowp::simd {

/// Counts exponent fields of binary32 from 1 to 254.
template <class Isa>
class exponent_tally {
  using U = word<Isa>;
  // A window has a bit for each of `width` exponents. Most groups need one window.
  static constexpr int width = 31, fields = 256, windows = (fields + width - 2) / width + 1,
                       digits = 14;

 public:
  static constexpr int size = 256;

  /// Memory outside this object: inside, its neighbours would stay in memory too.
  using scratch = U[windows][digits];

  /// Adds to counts[i] the number of magnitudes with exponent field i.
  LOWP_HOST_FN exponent_tally(scratch& memory, std::uint64_t* counts)
      : digits_(memory), counts_(counts) {}

  /// Counts the magnitudes of a group, which have this range.
  LOWP_HOST_FN void add(std::uint32_t const* magnitudes, auto const& range) {
    if (groups_ == 0) clear(range.largest());
    ++groups_;
    int const least = range.has_below(end_of(chosen_ - 1)) ? 0 : chosen_;
    int const last = range.has_from(end_of(chosen_)) ? windows - 1 : chosen_;
    for (int i = least; i <= last; ++i)
      if (range.has_below(end_of(i)) && range.has_from(end_of(i - 1)))
        add_to(digits_[i], magnitudes, i);
    if (groups_ == most_groups) [[unlikely]]
      count();
  }
  /// Moves the counts of all groups to `counts`. Call it after the last group.
  LOWP_HOST_FN void count() {
    if (groups_ == 0) return;
    for (int i = 0; i < windows; ++i) count(digits_[i], first(i));
    groups_ = 0;
  }

 private:
  static constexpr int low_digits = __builtin_ctz(size / Isa::lanes);
  static constexpr int most_groups = (1 << (digits - low_digits)) - 1;

  /// Returns the exponent field of the window's first bit, which may be below zero.
  LOWP_HOST_FN int first(int window) const { return offset_ + (window - 1) * width; }
  /// Returns the least magnitude above a window.
  LOWP_HOST_FN std::uint32_t end_of(int window) const {
    int const field = first(window + 1);
    return field < 1 ? 1 : static_cast<std::uint32_t>(field < fields ? field : fields) << 23;
  }

  /// Aligns a window with the largest number of the first group. Others are rarely much larger.
  LOWP_HOST_FN void clear(U const& largest) {
    constexpr int above = 6;
    std::uint32_t most = 0;
    for (int i = 0; i < Isa::lanes; ++i) most = lanes::max(most, lane<U>::at(largest, i));
    int const end = static_cast<int>(most >> 23) + above + 1;
    offset_ = end % width;
    chosen_ = end / width;
    for (auto& window : digits_)
      for (U& digit : window) digit = lanes::broadcast<U>(0);
  }

  LOWP_HOST_FN void add_to(U (&window)[digits], std::uint32_t const* magnitudes, int number) {
    U digit[std::size_t{low_digits}];
    for (int i = 0; i < low_digits; ++i) digit[i] = window[i];
    U const from = lanes::broadcast<U>(static_cast<std::uint32_t>(first(number)) << 23);
    U carry = carry_of<low_digits>(digit, magnitudes, from);
    for (int i = 0; i < low_digits; ++i) window[i] = digit[i];
    for (int i = 0; groups_ >> i != 0; ++i) {
      U& high = window[low_digits + i];
      U const both = high & carry;
      high = high ^ carry;
      carry = both;
    }
  }
  /// Adds 2^Digits packs to as many digits. Returns the carry.
  template <int Digits>
  LOWP_HOST_FN static U carry_of(U* digit, std::uint32_t const* magnitudes, U const& from) {
    U result;
    if constexpr (Digits == 0) {
      Isa::power_of_two(result, (U::load(magnitudes) - from) >> 23);
    } else {
      constexpr int half = Isa::lanes << (Digits - 1);
      U const first = carry_of<Digits - 1>(digit, magnitudes, from);
      U const second = carry_of<Digits - 1>(digit, magnitudes + half, from);
      Isa::add_bits(digit[Digits - 1], result, first, second);
    }
    return result;
  }
  LOWP_HOST_FN void count(U const (&window)[digits], int first) {
    U seen = window[0];
    for (U const& digit : window) seen = seen | digit;
    if (!lanes::any(lanes::mask_not(lanes::equal(seen, lanes::broadcast<U>(0))))) return;
    for (int bit = 0; bit < width; ++bit) {
      int const field = first + bit, up = 31 - bit;
      if (field < 1 || field >= fields - 1 || !lanes::any(has_sign(seen << up))) continue;
      for (int i = 0; i < digits; ++i)
        counts_[field] += std::uint64_t{lanes::count(has_sign(window[i] << up))} << i;
    }
  }
  LOWP_HOST_FN static auto has_sign(U const& a) {
    return lanes::greater(lanes::broadcast<U>(0), a);
  }

  scratch& digits_;
  std::uint64_t* counts_;
  int offset_ = 0, chosen_ = 0, groups_ = 0;
};

}  // namespace lowp::simd
