// SPDX-License-Identifier: Apache-2.0
// The sums of an update_report by a warp. Each of its threads has the terms of a chunk:
//
//     8 distances of fold::sum    until half of the warp has one sum, and half has the other
//     16 digits of each sum       one a thread: a group's sum goes to the digit of its exponent
//
// A digit is an integer with room for 2^23 groups, so nothing is carried before the report.
#pragma once

#include <lowp/cuda/chunk.hpp>
#include <lowp/report/lanes.hpp>

#include <cstdint>

namespace lowp::cuda {

LOWP_EXACT_BEGIN

/// The report of one GPU thread.
class update_of_thread : public detail::update_counts<float> {
  using terms = detail::update_terms<float>;

 public:
  static constexpr bool sums_by_warps = true;

  /// Counts element k of a chunk if it is one, and keeps its terms.
  LOWP_FN void add(int k, bool is_element, float u, std::uint32_t before, std::uint32_t after,
                   float old, float now, bool overflowed) {
    terms_[k] = count_masked(is_element, u, before, after, old, now, overflowed);
  }
  /// Sums the terms of a warp's chunks. All of its threads call this.
  template <class Thread>
  LOWP_FN void fold(Thread const& thread) {
    constexpr unsigned warp = 32;
    number_ = thread.thread() % warp;
    group<Thread> all{*this, thread};
    bool const is_scaled = detail::sum_in_float(all);
    add_to_digit(lanes::bits(sum_), is_scaled ? detail::sum_exponent : 0);
  }
  LOWP_FN update_report total(std::uint64_t count) const {
    update_report report = counted(count);
    bool const negative = digit_ < 0;
    auto const digit = static_cast<std::uint64_t>(digit_);
    // A choice of two addresses would keep both sums in memory.
    exact_sum sum;
    sum.add(negative, negative ? 0 - digit : digit, static_cast<int>(number_ % digits * digit_bits),
            detail::alone{});
    if (number_ < digits)
      report.applied = sum;
    else
      report.requested = sum;
    return report;
  }

 private:
  static constexpr unsigned digits = 16;
  static constexpr unsigned digit_bits = 17;
  static_assert(digits * digit_bits > 253 + detail::sum_exponent);

  template <class Thread>
  struct group {
    update_of_thread& mine;
    Thread const& thread;

    LOWP_FN bool sum() const {
      float x[2 * chunk_size];
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k) {
        x[k] = mine.terms_[k].applied;
        x[chunk_size + k] = mine.terms_[k].requested;
      }
      halve<16>(x);
      float const sums = lanes::add(x[0], other<1>(x[0]));
      float const fours = lanes::add(sums, other<8>(sums));
      float const twos = lanes::add(fours, other<4>(fours));
      mine.sum_ = lanes::add(twos, other<2>(twos));
      std::uint32_t const size = lanes::hidden(lanes::magnitude(mine.sum_));
      std::uint32_t const of_other = thread.template exchanged<16>(size);
      return size < lanes::binary32_infinity && of_other < lanes::binary32_infinity;
    }
    template <class Fn>
    LOWP_FN void change(Fn const& fn) const {
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k) fn(mine.terms_[k]);
    }
    LOWP_FN void remove_nonfinite(terms& x) const { mine.remove_nonfinite(x); }

   private:
    template <int Distance>
    LOWP_FN float other(float x) const {
      return lanes::from_bits<float>(thread.template exchanged<Distance>(lanes::bits(x)));
    }
    /// Adds the values of a thread at this distance. The one of higher number keeps the upper half
    /// of them. Then the threads at half the distance do so, until each has one value.
    template <int Distance, int Values>
    LOWP_FN void halve(float (&x)[Values]) const {
      constexpr int half = Distance / 2;
      bool const is_upper = (mine.number_ & Distance) != 0;
      LOWP_UNROLL_ON_GPU
      for (int i = 0; i < half; ++i) {
        float const kept = is_upper ? x[i + half] : x[i];
        x[i] = lanes::add(kept, other<Distance>(is_upper ? x[i] : x[i + half]));
      }
      if constexpr (half > 1) halve<half>(x);
    }
  };

  /// Adds 2^exponent * x, which is finite, to the digit of its last bit.
  LOWP_FN void add_to_digit(std::uint32_t x, int exponent) {
    std::uint32_t const field = x >> 23 & 0xff, fraction = x & 0x7fffff;
    auto const at = static_cast<unsigned>(exponent) + (field == 0 ? 0 : field - 1);
    if (at / digit_bits != number_ % digits) return;
    std::int64_t const units = std::int64_t{field == 0 ? fraction : fraction | 1u << 23}
                               << at % digit_bits;
    digit_ += x >> 31 != 0 ? -units : units;
  }

  terms terms_[chunk_size];
  float sum_ = 0;
  std::int64_t digit_ = 0;
  unsigned number_ = 0;
};

LOWP_EXACT_END

}  // namespace lowp::cuda

template <>
struct lowp::detail::lanes_of_report<lowp::update_report, float> {
  using type = lowp::cuda::update_of_thread;
  using partial = lowp::update_report;
};
