// SPDX-License-Identifier: Apache-2.0
// THE kernel: the work of every grid thread, for every operation, operand type and rounding. The
// thread is a template parameter, so that the same text runs without a GPU:
//
//     thread(), threads(), block(), blocks()   its coordinates
//     read<T>(address), write(address, T)      one access, aligned to its size
//     once(make)                               make(), by one thread of a block for all
//     barrier(), warp_barrier()                waits for the block's threads, or the warp's
//     shared<T>()                              threads() objects that a block shares
//     counters<N>(), shared_floats<N>()        N more words that a block shares, N floats
//     dynamic_memory()                         the call's dynamic_bytes, aligned to 16 bytes
//     register_address(address)                the address in a register, if in shared memory
//     max_among<N>(word)                       maximum over N neighbours, which all call it
//     exchanged<Distance>(word)                the word of the thread whose number has another bit
//     atomics, hardware                        types: see exact_sum.hpp, accessor.hpp
//
// A tile of a tensor is passes over chunks, one chunk a thread:
//
//     pass 0  | thread 0 | thread 1 | ... |     8 elements each
//     pass 1  | thread 0 | thread 1 | ... |
//     ...
#pragma once

#include <lowp/cuda/blocks.hpp>
#include <lowp/cuda/composite.hpp>
#include <lowp/cuda/tuning.hpp>
#include <lowp/cuda/update_sums.hpp>
#include <lowp/report/amax.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace lowp::cuda {

/// A list of tensors. Their tiles have successive numbers, one tensor after another.
template <int Slots, int Capacity>
struct tensor_table {
  struct tensor {
    void* data[std::size_t{Slots}];
    std::uint64_t count, first_tile;
    std::uint32_t number;
  };
  tensor at[std::size_t{Capacity}];
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

template <class... KernelOperand>
inline constexpr int chunks_per_thread =
    tuning::chunks(chunk_size * (0 + ... + KernelOperand::bytes_read));

template <class Report>
inline constexpr bool is_reported = !std::is_same_v<Report, simd::no_report>;

/// The work of a block: its tiles, one after another.
template <int Width, class Thread, class Function, class Report, class... KernelOperand>
class tile_runner {
  static constexpr bool is_computed = !requires { Function::is_conversion; };
  static constexpr int passes = chunks_per_thread<KernelOperand...>;
  static constexpr bool is_collective = (KernelOperand::is_collective || ...);
  /// The index of an operand's first pointer among those of a tensor.
  template <int I>
  static constexpr int first_part = [] {
    int first = 0, i = 0;
    ((first += i++ < I ? KernelOperand::parts : 0), ...);
    return first;
  }();
  template <class S>
  using accessor_of = accessor<S, is_computed, typename Thread::hardware, passes>;
  struct nothing {
    using type = simd::no_report;
    using partial = simd::no_report;
  };
  using tally =
      std::conditional_t<is_reported<Report>, detail::lanes_of_report<Report, float>, nothing>;
  using totals = typename tally::type;
  static constexpr bool is_histogram = requires { totals::bins; };
  static constexpr bool sums_by_warps = requires { requires totals::sums_by_warps; };
  static_assert(!sums_by_warps || 32 * chunk_size == 256, "a warp's chunks are not a group");
  using partial_type = typename tally::partial;
  using others = std::make_index_sequence<sizeof...(KernelOperand) - 1>;

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
  LOWP_FN void run(Table const& table, KernelOperand const&... kernel_operands) {
    std::uint64_t const per_pass = std::uint64_t{thread_.threads()} * chunk_size;
    for (std::uint64_t tile = thread_.block(); tile < table.tiles; tile += thread_.blocks()) {
      auto const& tensor = table.at[table.find(tile)];
      if constexpr (is_reported<Report>) report_on(tensor.number);
      std::uint64_t const first = (tile - tensor.first_tile) * per_pass * passes;
      run_tile(std::index_sequence_for<KernelOperand...>{}, tensor, first,
               tensor.count - first >= per_pass * passes, kernel_operands...);
    }
    if constexpr (is_reported<Report>) flush();
  }

 private:
  template <std::size_t... I, class Tensor>
  LOWP_FN void run_tile(std::index_sequence<I...>, Tensor const& tensor, std::uint64_t first,
                        bool is_whole, KernelOperand const&... kernel_operands) {
    first += std::uint64_t{thread_.thread()} * chunk_size;
    if (is_whole)
      run_passes<true>(
          first, tensor.count,
          accessor_of<KernelOperand>(kernel_operands, tensor.data + first_part<static_cast<int>(I)>,
                                     tensor.number)...);
    else
      run_passes<false>(
          first, tensor.count,
          accessor_of<KernelOperand>(kernel_operands, tensor.data + first_part<static_cast<int>(I)>,
                                     tensor.number)...);
  }

  // All loads of a thread come before any of its arithmetic.
  template <bool IsWhole, class... Accessor>
  LOWP_FN void run_passes(std::uint64_t first, std::uint64_t end, Accessor&&... accessors) {
    std::uint64_t const per_pass = std::uint64_t{thread_.threads()} * chunk_size;
    LOWP_UNROLL_ON_GPU
    for (int pass = 0; pass < passes; ++pass) {
      std::uint64_t const at = first + static_cast<std::uint64_t>(pass) * per_pass;
      (accessors.template load<Width>(pass, thread_, at, IsWhole ? chunk_size : valid(at, end)),
       ...);
    }
    LOWP_UNROLL_ON_GPU
    for (int pass = 0; pass < passes; ++pass) {
      std::uint64_t const at = first + static_cast<std::uint64_t>(pass) * per_pass;
      int const count = IsWhole ? chunk_size : valid(at, end);
      if (count != 0 || is_collective || sums_by_warps)
        run_chunk(std::index_sequence_for<Accessor...>{}, others{}, pass, at, count, accessors...);
    }
  }
  LOWP_FN static int valid(std::uint64_t at, std::uint64_t end) {
    return at >= end ? 0 : end - at < chunk_size ? static_cast<int>(end - at) : chunk_size;
  }

  template <std::size_t... I, std::size_t... J, class Parameter, class... Accessor>
  LOWP_FN void run_chunk(std::index_sequence<I...>, std::index_sequence<J...>, int pass,
                         std::uint64_t at, int count, Parameter& p, Accessor&... other) {
    float x[sizeof...(I)][chunk_size];
    decode(p, pass, x[0]);
    (decode(other, pass, x[J + 1]), ...);
    constexpr bool sees_moments = requires { requires totals::sees_moments; };
    if constexpr (!is_reported<Report> || sees_moments) {
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k) function_(x[I][k]...);
      p.encode(thread_, x[0], at, count);
      if constexpr (sees_moments)
        (count_moment<static_cast<int>(J) - 1>(pass, at, count, x[J + 1], other), ...);
    } else if constexpr (requires { requires totals::sees_codes; }) {
      chunk_bits const random = p.bits(at);
      p.clear();
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k) {
        float const old = x[0][k];
        float const u = function_(x[I][k]...);
        auto const now = p.set(k, x[0][k], random(k));
        if constexpr (sums_by_warps)
          totals_.add(k, k < count, u, p.code(pass, k), now.code, old, Parameter::decoded(now.code),
                      now.overflowed);
        else if (k < count)
          totals_.add(u, p.code(pass, k), now.code, old, Parameter::decoded(now.code),
                      now.overflowed, x[1][k]);
      }
    } else {
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k) {
        auto const observed = function_(x[I][k]...);
        if (k < count) add(observed);
      }
      p.encode(thread_, x[0], at, count);
    }
    if constexpr (is_reported<Report>) {
      if constexpr (sums_by_warps)
        totals_.fold(thread_);
      else
        totals_.end_batch();
      observed_ += static_cast<std::uint64_t>(count);
    }
    (other.encode(thread_, x[J + 1], at, count), ...);
    p.template store<Width>(thread_, at, count);
    (other.template store<Width>(thread_, at, count), ...);
  }

  template <class Accessor>
  LOWP_FN void decode(Accessor const& from, int pass, float (&x)[chunk_size]) const {
    if constexpr (requires { from.decode(thread_, pass, x); })
      from.decode(thread_, pass, x);
    else
      from.decode(pass, x);
  }

  template <int Moment, class Accessor>
  LOWP_FN void count_moment(int pass, std::uint64_t at, int count, float const (&exact)[chunk_size],
                            Accessor& moment) {
    if constexpr (Moment >= 0) {  // operand 1 is the gradient
      chunk_bits const random = moment.bits(at);
      moment.clear();
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k) {
        std::uint32_t const before = moment.code(pass, k);
        std::uint32_t const after = moment.set(k, exact[k], random(k)).code;
        if (k < count)
          totals_.template add<Moment>(before, after, Accessor::decoded(before), exact[k],
                                       Accessor::decoded(after));
      }
    }
  }

  template <class Observed>
  LOWP_FN void add(Observed const& observed) {
    totals_.add(observed);
    if constexpr (is_histogram) {
      int const bin = totals::bin(observed);
      if (bin >= 0) typename Thread::atomics{}.add(counters()[bin], std::uint32_t{1});
    }
  }
  LOWP_FN std::uint32_t* counters() const { return thread_.template counters<totals::bins>(); }
  /// Calls fn for each bin, in one of the block's threads.
  template <class Fn>
  LOWP_FN void for_each_bin(Fn const& fn) const {
    for (unsigned bin = thread_.thread(); bin < totals::bins; bin += thread_.threads())
      fn(counters()[bin], bin);
  }

  LOWP_FN void report_on(std::uint32_t number) {
    if (number_ != none && number_ != number) flush();
    number_ = number;
  }
  /// Adds the block's partial to the report: once for all its threads.
  LOWP_FN void flush() {
    auto* const partial = thread_.template shared<partial_type>();
    partial[thread_.thread()] = totals_.total(observed_);
    for (unsigned half = thread_.threads() / 2; half != 0; half /= 2) {
      thread_.barrier();
      if (thread_.thread() < half) partial[thread_.thread()] += partial[thread_.thread() + half];
    }
    if (thread_.thread() == 0)
      reports_[std::uint64_t{number_} * stride_].add(partial[0], typename Thread::atomics{});
    if constexpr (is_histogram)
      for_each_bin([&](std::uint32_t& counter, unsigned bin) {
        if (counter != 0)
          reports_[std::uint64_t{number_} * stride_].add_to_bin(bin, counter,
                                                                typename Thread::atomics{});
        counter = 0;
      });
    thread_.barrier();
    totals_ = {};
    observed_ = 0;
  }

  Thread const& thread_;
  Function const& function_;
  Report* reports_;
  static constexpr std::uint32_t none = 0xffffffff;
  std::uint32_t stride_, number_ = none;
  std::uint64_t observed_ = 0;
  totals totals_;
};

/// The largest size of a kernel's arguments, from CUDA 12.1 on (CUDA C++ Programming Guide,
/// "Function Parameters").
inline constexpr std::size_t parameter_bytes = 32764;

/// A kernel and its arguments, which a grid's threads get by value.
template <int Width, class Make, class Report, class Table, class Indices, class... KernelOperand>
struct kernel_call;

template <int Width, class Make, class Report, class Table, std::size_t... I,
          class... KernelOperand>
struct kernel_call<Width, Make, Report, Table, std::index_sequence<I...>, KernelOperand...>
    : indexed<I, KernelOperand>... {
  static constexpr unsigned least_blocks = tuning::least_blocks(
      is_reported<Report>, (draws<KernelOperand> || ...), (0 + ... + KernelOperand::bytes_read));

  /// True if threads of a block wait for each other.
  static constexpr bool is_collective =
      is_reported<Report> || (KernelOperand::is_collective || ...);

  Make make_function;
  Report* reports;
  std::uint32_t stride;
  Table table;

  template <class Thread>
  LOWP_FN void run(Thread const& thread) const {
    auto const function = thread.once(make_function);
    using runner =
        tile_runner<Width, Thread, std::remove_cv_t<decltype(function)>, Report, KernelOperand...>;
    runner(thread, function, reports, stride).run(table, indexed<I, KernelOperand>::value...);
  }
};

}  // namespace lowp::cuda
