// SPDX-License-Identifier: Apache-2.0
// THE kernel: what every thread of a grid does, for every operation, operand type and rounding. The
// thread is a template, so that the same text runs where there is no GPU:
//
//     thread(), threads(), block(), blocks()   its coordinates
//     read<T>(address), write(address, T)      one access, aligned to its size
//     once(make)                               make(), by one thread of a block for all
//     barrier(), shared<T>()                   threads() objects that a block shares
//     counters<N>()                            N words that a block shares, beside those
//     max_among<N>(word)                       of N neighbours, all of whom ask
//     atomics, hardware                        types: see exact_sum.hpp, port.hpp
//
// A tile of a tensor is rows of groups, one group a thread:
//
//     row 0   | thread 0 | thread 1 | ... |     8 elements each
//     row 1   | thread 0 | thread 1 | ... |
//     ...
#pragma once

#include <lowp/cuda/blocks.hpp>
#include <lowp/cuda/composite.hpp>
#include <lowp/report/amax.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace lowp::cuda {

/// A list of tensors, whose tiles are numbered one tensor's after another's.
template <int Slots, int Capacity>
struct tensor_table {
  struct tensor {
    void* data[Slots];
    std::uint64_t count, first_tile;
    std::uint32_t number;
  };
  tensor at[Capacity];
  std::uint32_t size;
  std::uint64_t tiles;

  LOWP_FN std::uint32_t find(std::uint64_t tile) const {
    if constexpr (Capacity == 1) return 0;
    std::uint32_t low = 0, high = size;  // at[low].first_tile <= tile < at[high].first_tile
    while (high - low > 1) {
      std::uint32_t const middle = (low + high) / 2;
      if (at[middle].first_tile <= tile)
        low = middle;
      else
        high = middle;
    }
    return low;
  }
};

/// So many that a thread has at least 32 bytes on their way before it computes.
template <class... Slot>
inline constexpr int groups_per_thread = [] {
  int const bytes = group_size * (0 + ... + Slot::bytes_read);
  return bytes >= 32 ? 1 : bytes >= 16 ? 2 : 4;
}();

template <class Report>
inline constexpr bool is_reported = !std::is_same_v<Report, simd::no_report>;

/// Where the pointers of each slot begin among those of a tensor.
template <class... Slot>
LOWP_FN constexpr auto first_parts() {
  struct {
    int at[sizeof...(Slot)];
    LOWP_FN constexpr int operator[](std::size_t i) const { return at[i]; }
  } first{};
  int parts = 0;
  std::size_t i = 0;
  ((first.at[i++] = parts, parts += Slot::parts), ...);
  return first;
}

/// What a block does with its tiles, one after another.
template <int Width, class Thread, class Function, class Report, class... Slot>
class tile_runner {
  static constexpr bool is_computed = !requires { Function::is_conversion; };
  static constexpr int rows = groups_per_thread<Slot...>;
  static constexpr bool is_collective = (Slot::is_collective || ...);
  static constexpr auto first_part = first_parts<Slot...>();
  template <class S>
  using port_of = port<S, is_computed, typename Thread::hardware, rows>;
  struct nothing {
    using type = simd::no_report;
    using part = simd::no_report;
  };
  using tally =
      std::conditional_t<is_reported<Report>, detail::lanes_of_report<Report, float>, nothing>;
  using totals = typename tally::type;
  static constexpr bool is_histogram = requires { totals::bins; };
  using part_type = typename tally::part;
  using others = std::make_index_sequence<sizeof...(Slot) - 1>;

 public:
  /// The report on tensor number n is reports[n * stride].
  LOWP_FN tile_runner(Thread const& thread, Function const& function, Report* reports,
                      std::uint32_t stride)
      : thread_(thread), function_(function), reports_(reports), stride_(stride) {
    if constexpr (is_histogram) {
      for_each_bin([](std::uint32_t& counter, unsigned) { counter = 0; });
      thread_.barrier();
    }
  }

  template <class Table>
  LOWP_FN void run(Table const& table, Slot const&... slots) {
    std::uint64_t const per_row = std::uint64_t{thread_.threads()} * group_size;
    for (std::uint64_t tile = thread_.block(); tile < table.tiles; tile += thread_.blocks()) {
      auto const& tensor = table.at[table.find(tile)];
      if constexpr (is_reported<Report>) report_on(tensor.number);
      std::uint64_t const first = (tile - tensor.first_tile) * per_row * rows;
      run_tile(std::index_sequence_for<Slot...>{}, tensor, first,
               tensor.count - first >= per_row * rows, slots...);
    }
    if constexpr (is_reported<Report>) flush();
  }

 private:
  template <std::size_t... I, class Tensor>
  LOWP_FN void run_tile(std::index_sequence<I...>, Tensor const& tensor, std::uint64_t first,
                        bool is_whole, Slot const&... slots) {
    first += std::uint64_t{thread_.thread()} * group_size;
    if (is_whole)
      run_rows<true>(first, tensor.count,
                     port_of<Slot>(slots, tensor.data + first_part[I], tensor.number)...);
    else
      run_rows<false>(first, tensor.count,
                      port_of<Slot>(slots, tensor.data + first_part[I], tensor.number)...);
  }

  // All loads of a thread before any of its arithmetic.
  template <bool IsWhole, class... Port>
  LOWP_FN void run_rows(std::uint64_t first, std::uint64_t end, Port&&... ports) {
    std::uint64_t const per_row = std::uint64_t{thread_.threads()} * group_size;
    LOWP_UNROLL_ON_GPU
    for (int row = 0; row < rows; ++row) {
      std::uint64_t const at = first + static_cast<std::uint64_t>(row) * per_row;
      (ports.template load<Width>(row, thread_, at, IsWhole ? group_size : valid(at, end)), ...);
    }
    LOWP_UNROLL_ON_GPU
    for (int row = 0; row < rows; ++row) {
      std::uint64_t const at = first + static_cast<std::uint64_t>(row) * per_row;
      int const count = IsWhole ? group_size : valid(at, end);
      if (count != 0 || is_collective)
        run_group(std::index_sequence_for<Port...>{}, others{}, row, at, count, ports...);
    }
  }
  LOWP_FN static int valid(std::uint64_t at, std::uint64_t end) {
    return at >= end ? 0 : end - at < group_size ? static_cast<int>(end - at) : group_size;
  }

  template <std::size_t... I, std::size_t... J, class Parameter, class... Port>
  LOWP_FN void run_group(std::index_sequence<I...>, std::index_sequence<J...>, int row,
                         std::uint64_t at, int count, Parameter& p, Port&... other) {
    float x[sizeof...(I)][group_size];
    p.decode(row, x[0]);
    (other.decode(row, x[J + 1]), ...);
    if constexpr (!is_reported<Report>) {
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < group_size; ++k) function_(x[I][k]...);
      p.encode(thread_, x[0], at, count);
    } else if constexpr (totals::sees_codes) {
      group_bits const random = p.bits(at);
      p.clear();
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < group_size; ++k) {
        float const old = x[0][k];
        float const u = function_(x[I][k]...);
        auto const now = p.set(k, x[0][k], random(k));
        if (k < count)
          totals_.add(u, p.code(row, k), now.code, old, Parameter::decoded(now.code),
                      now.overflowed, x[1][k]);
      }
    } else {
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < group_size; ++k) {
        auto const seen = function_(x[I][k]...);
        if (k < count) add(seen);
      }
      p.encode(thread_, x[0], at, count);
    }
    if constexpr (is_reported<Report>) {
      totals_.fold();
      seen_ += static_cast<std::uint64_t>(count);
    }
    (other.encode(thread_, x[J + 1], at, count), ...);
    p.template store<Width>(thread_, at, count);
    (other.template store<Width>(thread_, at, count), ...);
  }

  template <class Seen>
  LOWP_FN void add(Seen const& seen) {
    totals_.add(seen);
    if constexpr (is_histogram) {
      int const bin = totals::bin(seen);
      if (bin >= 0) typename Thread::atomics{}.add(counters()[bin], std::uint32_t{1});
    }
  }
  LOWP_FN std::uint32_t* counters() const { return thread_.template counters<totals::bins>(); }
  /// By one of the block's threads each.
  template <class Fn>
  LOWP_FN void for_each_bin(Fn const& fn) const {
    for (unsigned bin = thread_.thread(); bin < totals::bins; bin += thread_.threads())
      fn(counters()[bin], bin);
  }

  LOWP_FN void report_on(std::uint32_t number) {
    if (number_ != none && number_ != number) flush();
    number_ = number;
  }
  /// Adds what the block has seen to the report: once for all its threads.
  LOWP_FN void flush() {
    auto* const part = thread_.template shared<part_type>();
    part[thread_.thread()] = totals_.total(seen_);
    for (unsigned half = thread_.threads() / 2; half != 0; half /= 2) {
      thread_.barrier();
      if (thread_.thread() < half) part[thread_.thread()] += part[thread_.thread() + half];
    }
    if (thread_.thread() == 0)
      reports_[std::uint64_t{number_} * stride_].add(part[0], typename Thread::atomics{});
    if constexpr (is_histogram)
      for_each_bin([&](std::uint32_t& counter, unsigned bin) {
        if (counter != 0)
          reports_[std::uint64_t{number_} * stride_].add_to_bin(bin, counter,
                                                                typename Thread::atomics{});
        counter = 0;
      });
    thread_.barrier();
    totals_ = {};
    seen_ = 0;
  }

  Thread const& thread_;
  Function const& function_;
  Report* reports_;
  static constexpr std::uint32_t none = 0xffffffff;
  std::uint32_t stride_, number_ = none;
  std::uint64_t seen_ = 0;
  totals totals_;
};

/// What the arguments of a kernel may take, from CUDA 12.1 on (CUDA C++ Programming Guide, "Function
/// Parameters").
inline constexpr std::size_t parameter_bytes = 32764;

/// A kernel and its arguments, which a grid's threads are given by value.
template <int Width, class Make, class Report, class Table, class Indices, class... Slot>
struct kernel_call;

template <std::size_t I, class Slot>
struct indexed_slot {
  Slot slot;
};
template <int Width, class Make, class Report, class Table, std::size_t... I, class... Slot>
struct kernel_call<Width, Make, Report, Table, std::index_sequence<I...>, Slot...>
    : indexed_slot<I, Slot>... {
  /// Blocks that a multiprocessor is to have room for; 0 leaves it to the compiler, which for a report
  /// would rather have more of them than enough registers.
  static constexpr unsigned least_blocks = is_reported<Report> ? 2 : 0;

  /// Threads of a block wait for each other.
  static constexpr bool is_collective = is_reported<Report> || (Slot::is_collective || ...);

  Make make_function;
  Report* reports;
  std::uint32_t stride;
  Table table;

  template <class Thread>
  LOWP_FN void run(Thread const& thread) const {
    auto const function = thread.once(make_function);
    using runner =
        tile_runner<Width, Thread, std::remove_cv_t<decltype(function)>, Report, Slot...>;
    runner(thread, function, reports, stride).run(table, indexed_slot<I, Slot>::slot...);
  }
};

}  // namespace lowp::cuda
