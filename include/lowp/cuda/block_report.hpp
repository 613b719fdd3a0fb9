// SPDX-License-Identifier: Apache-2.0
// Counts of the threads of a block, which are added to a report.
#pragma once

#include <lowp/cuda/chunk.hpp>
#include <lowp/report/warp_sums.hpp>

namespace lowp::cuda {

LOWP_EXACT_BEGIN

/// The update_report of one GPU thread. A warp sums the terms of its threads' chunks:
///
///     8 distances of fold::sum    until half of the warp has one sum, and half has the other
///     16 digits of each sum       one a thread
class update_of_thread : public detail::update_counts<float> {
 public:
  static constexpr bool sums_by_warps = true;

  /// Counts element k of a chunk if it is one, and keeps its terms.
  LOWP_FN void add(int k, bool is_element, float u, std::uint32_t before, std::uint32_t after,
                   float old, float now, bool overflowed) {
    using detail::only;
    terms_[k] = count(only(is_element, u), before, after, only(is_element, old),
                      only(is_element, now), is_element && overflowed);
  }
  LOWP_FN void make_nonfinite(int k) {
    terms_[k].requested = lanes::from_bits<float>(lanes::binary32_infinity);
  }
  /// Sums the terms of a warp's chunks. All of its threads call this.
  template <class Thread>
  LOWP_FN void fold(Thread const& thread) {
    detail::warp<Thread> const team{thread};
    number_ = team.number();
    bool const is_scaled = detail::sum_in_float(*this, team);
    digit_.add(number_, sum_, is_scaled ? detail::sum_exponent : 0);
  }

  // A group: see sum_in_float.
  LOWP_FN bool sum(auto const& team) {
    float x[2 * chunk_size];
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < chunk_size; ++k) {
      x[k] = terms_[k].applied;
      x[chunk_size + k] = terms_[k].requested;
    }
    team.template halve<16, chunk_size>(x);
    float const sums = team.template sum_of_two<1>(x[0]);
    float const fours = team.template sum_of_two<8>(sums);
    sum_ = team.template sum_of_two<2>(team.template sum_of_two<4>(fours));
    std::uint32_t const size = lanes::hidden(lanes::magnitude(sum_));
    std::uint32_t const of_other = team.thread.template exchanged<16>(size);
    return size < lanes::binary32_infinity && of_other < lanes::binary32_infinity;
  }
  LOWP_FN void change(auto const& fn) {
    LOWP_UNROLL_ON_GPU
    for (auto& terms : terms_) fn(terms);
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

  detail::update_terms<float> terms_[chunk_size];
  float sum_ = 0;
  digit digit_;
  unsigned number_ = 0;
};

LOWP_EXACT_END

template <class Report>
inline constexpr bool is_reported = !std::is_same_v<Report, simd::no_report>;

/// An object whose neighbours in shared memory begin in other banks: an odd number of words apart.
template <class T, bool IsOdd = sizeof(T) / alignof(T) % 2 != 0>
struct in_other_banks {
  T value;
};
template <class T>
struct in_other_banks<T, false> {
  T value;
  alignas(T) unsigned char gap[alignof(T)];
};

/// The report on tensor number n is reports[n * stride]; reports on blocks may be absent.
template <class Thread, class Report>
class block_report {
  using tally = std::conditional_t<is_reported<Report>, detail::lanes_of_report<Report, float>,
                                   std::type_identity<simd::no_report>>;
  using atomics = typename Thread::atomics;

 public:
  using totals = typename tally::type;

  LOWP_FN block_report(Thread const& thread, Report* reports, std::uint32_t stride)
      : thread_(thread), reports_(reports), stride_(stride) {
    if constexpr (is_histogram) {
      for_each_bin([](std::uint32_t& counter, unsigned) { counter = 0; });
      thread_.barrier();
    }
  }

  /// Begins to count for tensor `number`.
  LOWP_FN void begin(std::uint32_t number) {
    if (number_ != none && number_ != number) flush();
    number_ = number;
  }
  /// Ends a tile's chunk `number` with `count` elements.
  LOWP_FN void end_chunk(int count, int number, bool is_last) {
    if constexpr (is_histogram)
      counted.fold(thread_, number, is_last);
    else if constexpr (requires { requires totals::sums_by_warps; })
      counted.fold(thread_);
    else if constexpr (requires { counted.end_batch(); })
      counted.end_batch();
    observed_ += static_cast<std::uint64_t>(count);
  }
  /// Adds the block's partial to the report: once for all its threads.
  LOWP_FN void flush() {
    if constexpr (requires { requires totals::sees_blocks; })
      if (reports_ == nullptr) return;
    if constexpr (is_histogram) counted.finish(thread_);
    auto* const partial = thread_.template shared<in_other_banks<decltype(counted.total(0))>>();
    partial[thread_.thread()].value = counted.total(observed_);
    for (unsigned half = thread_.threads() / 2; half != 0; half /= 2) {
      thread_.barrier();
      if (thread_.thread() < half)
        partial[thread_.thread()].value += partial[thread_.thread() + half].value;
    }
    Report& report = reports_[std::uint64_t{number_} * stride_];
    if (thread_.thread() == 0) report.add(partial[0].value, atomics{});
    if constexpr (is_histogram)
      for_each_bin([&](std::uint32_t& counter, unsigned bin) {
        if (counter != 0) report.add_to_bin(bin, counter, atomics{});
        counter = 0;
      });
    thread_.barrier();
    counted = {};
    observed_ = 0;
  }

  totals counted;

 private:
  static constexpr bool is_histogram = requires { totals::bins; };
  static constexpr std::uint32_t none = 0xffffffff;

  /// Calls fn for each bin, in one of the block's threads.
  LOWP_FN void for_each_bin(auto const& fn) const {
    auto* const counters = thread_.template counters<totals::bins>();
    for (unsigned bin = thread_.thread(); bin < totals::bins; bin += thread_.threads())
      fn(counters[bin], bin);
  }

  Thread const& thread_;
  Report* reports_;
  std::uint32_t stride_, number_ = none;
  std::uint64_t observed_ = 0;
};

}  // namespace lowp::cuda

template <>
struct lowp::detail::lanes_of_report<lowp::update_report, float>
    : std::type_identity<lowp::cuda::update_of_thread> {};
