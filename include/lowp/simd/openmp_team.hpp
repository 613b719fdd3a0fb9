// SPDX-License-Identifier: Apache-2.0
// The executor of lowp/openmp.hpp.
#pragma once

#include <lowp/base/config.hpp>
#if !defined(_OPENMP)
#error "lowp/openmp.hpp needs OpenMP: compile with -fopenmp"
#endif

#include <lowp/simd/dispatch.hpp>
#include <lowp/simd/executors.hpp>

#include <algorithm>
#include <vector>

namespace lowp::detail::inline LOWP_UNIT {

/// An executor: a team of threads, each with a few shards of every range.
struct openmp_team : throwing {
  /// Elements of a shard: a multiple of the 8 that share random bits, and of kernel batches of at
  /// most 256. A shard takes a few microseconds, and its streams fit a core's cache.
  static constexpr std::size_t shard = blocks_on_this_thread::block;
  /// The least bytes of all ranges for which a team starts. For less, one thread is done before
  /// the others have started and met.
  static constexpr std::size_t least_bytes = std::size_t{1} << 18;
  /// Threads meet after this many shards, so that the shards' reports take little memory.
  static constexpr std::size_t most_shards = 1 << 12;

  template <class RowCall>
  void operator()(RowCall const& call) const {
    std::size_t in_shard = std::max<std::size_t>(1, shard / call.columns);
    if constexpr (requires { RowCall::has_lines; })
      in_shard = (in_shard + call.lines.rows - 1) / call.lines.rows * call.lines.rows;
    std::size_t const bytes = call.rows * call.columns * 4;  // of 16 bits that are read and written
    for_each_shard(call.rows, in_shard, bytes, [&](std::size_t first, std::size_t count) {
      RowCall some = call;
      some.first_row += first;
      some.rows = count;
      simd::this_thread{}(some);
    });
  }

  template <class Make, class Report, class Indices, class... Operand>
  void operator()(simd::element_call<Make, Report, Indices, Operand...> const& call) const {
    constexpr bool is_reported = !std::is_same_v<Report, simd::no_report>;
    std::size_t bytes = 0;
    call.each_array([&](auto const& array) { bytes += array.size_bytes(); });
    std::size_t const together = is_reported ? shard * most_shards : call.size.count;
    for (std::size_t first = 0; first < call.size.count; first += together) {
      std::size_t const count = std::min(together, call.size.count - first);
      // Merged in order, so that the bits of a sum do not show which thread ran a shard.
      std::vector<Report> reports(call.report == nullptr ? 0 : (count + shard - 1) / shard);
      for_each_shard(count, shard, bytes, [&](std::size_t at, std::size_t size) {
        simd::this_thread{}(call.subrange(first + at, size,
                                          call.report == nullptr ? nullptr : &reports[at / shard]));
      });
      if constexpr (is_reported)
        for (Report const& each : reports) *call.report += each;
    }
  }

  template <class T>
  void copy(T* to, T const* from, std::size_t count) const {
    if (to == from) return;
    for_each_shard(count, shard, 2 * count * sizeof(T), [&](std::size_t first, std::size_t size) {
      std::copy_n(from + first, size, to + first);
    });
  }

 private:
  static void for_each_shard(std::size_t count, std::size_t in_shard, std::size_t bytes,
                             auto const& fn) {
    static_cast<void>(isa());  // throws here if at all: no exception can leave a team
    std::size_t const shards = (count + in_shard - 1) / in_shard;
    auto const take = [&](std::size_t i) {
      fn(i * in_shard, std::min(in_shard, count - i * in_shard));
    };
    if (shards < 2 || bytes < least_bytes) {  // OpenMP's own `if` still starts a team of one
      for (std::size_t i = 0; i < shards; ++i) take(i);
      return;
    }
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < shards; ++i) take(i);
  }
};

}  // namespace lowp::detail::inline LOWP_UNIT
