// SPDX-License-Identifier: Apache-2.0
// The sums of an update_report by a warp. Each of its threads has the terms of a chunk:
//
//     8 distances of fold::sum    until half of the warp has one sum, and half has the other
//     16 digits of each sum       one a thread
#pragma once

#include <lowp/cuda/chunk.hpp>
#include <lowp/report/lanes.hpp>
#include <lowp/report/warp_sums.hpp>

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
    group<Thread> all{*this, {thread}};
    number_ = all.team.number();
    bool const is_scaled = detail::sum_in_float(all);
    digit_.add(number_, sum_, is_scaled ? detail::sum_exponent : 0);
  }
  LOWP_FN update_report total(std::uint64_t count) const {
    update_report report = counted(count);
    // A choice of two addresses would keep both sums in memory.
    exact_sum sum;
    digit_.add_to(sum, number_);
    if (number_ < digits)
      report.applied = sum;
    else
      report.requested = sum;
    return report;
  }

 private:
  static constexpr unsigned digits = 16;
  using digit = detail::warp_digit<digits, 17>;
  static_assert(digit::bits > 253 + detail::sum_exponent);

  template <class Thread>
  struct group {
    update_of_thread& mine;
    detail::warp<Thread> team;

    LOWP_FN bool sum() const {
      float x[2 * chunk_size];
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k) {
        x[k] = mine.terms_[k].applied;
        x[chunk_size + k] = mine.terms_[k].requested;
      }
      team.template halve<16, chunk_size>(x);
      float const sums = team.template sum_of_two<1>(x[0]);
      float const fours = team.template sum_of_two<8>(sums);
      mine.sum_ = team.template sum_of_two<2>(team.template sum_of_two<4>(fours));
      std::uint32_t const size = lanes::hidden(lanes::magnitude(mine.sum_));
      std::uint32_t const of_other = team.thread.template exchanged<16>(size);
      return size < lanes::binary32_infinity && of_other < lanes::binary32_infinity;
    }
    template <class Fn>
    LOWP_FN void change(Fn const& fn) const {
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k) fn(mine.terms_[k]);
    }
    LOWP_FN void remove_nonfinite(terms& x) const { mine.remove_nonfinite(x); }
  };

  terms terms_[chunk_size];
  float sum_ = 0;
  digit digit_;
  unsigned number_ = 0;
};

LOWP_EXACT_END

}  // namespace lowp::cuda

template <>
struct lowp::detail::lanes_of_report<lowp::update_report, float> {
  using type = lowp::cuda::update_of_thread;
  using partial = lowp::update_report;
};
