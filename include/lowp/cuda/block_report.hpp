// SPDX-License-Identifier: Apache-2.0
// Counts of the threads of a block, which are added to a report.
#pragma once

#include <lowp/cuda/update_sums.hpp>
#include <lowp/report/amax.hpp>

#include <cstdint>
#include <type_traits>

namespace lowp::cuda {

template <class Report>
inline constexpr bool is_reported = !std::is_same_v<Report, simd::no_report>;

/// The report on tensor number n is reports[n * stride]; reports on blocks may be absent.
template <class Thread, class Report>
class block_report {
  struct nothing {
    using type = simd::no_report;
    using partial = simd::no_report;
  };
  using tally =
      std::conditional_t<is_reported<Report>, detail::lanes_of_report<Report, float>, nothing>;
  using partial_type = typename tally::partial;
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
  template <class Observed>
  LOWP_FN void add(Observed const& observed) {
    counted.add(observed);
    if constexpr (is_histogram) {
      int const bin = totals::bin(observed);
      if (bin >= 0) atomics{}.add(counters()[bin], std::uint32_t{1});
    }
  }
  /// Ends a chunk with `count` elements.
  LOWP_FN void end_chunk(int count) {
    if constexpr (requires { requires totals::sums_by_warps; })
      counted.fold(thread_);
    else
      counted.end_batch();
    observed_ += static_cast<std::uint64_t>(count);
  }
  /// Adds the block's partial to the report: once for all its threads.
  LOWP_FN void flush() {
    if constexpr (requires { requires totals::sees_blocks; })
      if (reports_ == nullptr) return;
    auto* const partial = thread_.template shared<partial_type>();
    partial[thread_.thread()] = counted.total(observed_);
    for (unsigned half = thread_.threads() / 2; half != 0; half /= 2) {
      thread_.barrier();
      if (thread_.thread() < half) partial[thread_.thread()] += partial[thread_.thread() + half];
    }
    Report& report = reports_[std::uint64_t{number_} * stride_];
    if (thread_.thread() == 0) report.add(partial[0], atomics{});
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

  LOWP_FN std::uint32_t* counters() const { return thread_.template counters<totals::bins>(); }
  /// Calls fn for each bin, in one of the block's threads.
  template <class Fn>
  LOWP_FN void for_each_bin(Fn const& fn) const {
    for (unsigned bin = thread_.thread(); bin < totals::bins; bin += thread_.threads())
      fn(counters()[bin], bin);
  }

  Thread const& thread_;
  Report* reports_;
  std::uint32_t stride_, number_ = none;
  std::uint64_t observed_ = 0;
};

}  // namespace lowp::cuda
