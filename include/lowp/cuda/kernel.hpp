// SPDX-License-Identifier: Apache-2.0
// THE kernel: the work of every grid thread, for every operation, operand type and rounding. The
// thread is a template parameter, so that the same text runs without a GPU:
//
//     thread(), threads(), block(), blocks()   its coordinates
//     read<T>(address), write(address, T)      one access, aligned to its size
//     once(make)                               make(), by one thread of a block for all
//     barrier(), warp_barrier()                waits for the block's threads, or the warp's
//     shared<T>(), shared<T, N>()              threads() or N objects that a block shares
//     counters<N>()                            N more words that a block shares
//     dynamic_memory()                         the call's dynamic_bytes, aligned to 16 bytes
//     register_address(address)                the address in a register, if in shared memory
//     exchanged<Distance>(word), any_of_warp   the word of the thread with another bit; any's vote
//     atomics, hardware                        types: see exact_sum.hpp, accessor.hpp
//
// A tile of a tensor is passes over chunks, one chunk a thread:
//
//     pass 0  | thread 0 | thread 1 | ... |     8 elements each
//     pass 1  | thread 0 | thread 1 | ... |
//     ...
//
// If an operand has scales, a warp's passes lie side by side, so that it writes whole sectors of
// scales. Chunks of a square tile follow one another, unless the tile fits in a warp: see
// scale_group.hpp. Of larger ones, a block of threads first finds the largest magnitude.
#pragma once

#include <lowp/cuda/block_report.hpp>
#include <lowp/cuda/blocks.hpp>
#include <lowp/cuda/composite.hpp>
#include <lowp/cuda/tuning.hpp>

namespace lowp::cuda {

/// The blocks that have work, in a kernel without a table of tensors.
struct block_tiles {
  std::uint64_t tiles;
};

/// The accesses for which a kernel has a text: each takes long to compile.
enum class kernel_text { full, any, both };

/// The work of a block: its tiles, one after another.
template <kernel_text Text, class Thread, class Function, class Report, class Indices,
          class... KernelOperand>
class tile_runner;
template <kernel_text Text, class Thread, class Function, class Report, std::size_t... K,
          class... KernelOperand>
class tile_runner<Text, Thread, Function, Report, std::index_sequence<K...>, KernelOperand...> {
  static constexpr bool has_whole = Text != kernel_text::any;
  static constexpr int full_width = widths[0];
  static constexpr bool is_computed = !requires { Function::is_conversion; };
  static constexpr int passes = chunks_per_thread<KernelOperand...>;
  static constexpr int runs = is_reported<Report> ? 1 : runs_of_chunk<KernelOperand...>;
  static constexpr bool is_collective = (KernelOperand::is_collective || ...);
  static constexpr bool has_scales = (KernelOperand::finds_scales || ...);
  /// The index of an operand's first pointer among those of a tensor.
  template <int Number>
  static constexpr int first_part = [] {
    int first = 0, number = 0;
    ((first += number++ < Number ? KernelOperand::parts : 0), ...);
    return first;
  }();
  template <class S>
  using accessor_of = accessor<S, is_computed, typename Thread::hardware, passes>;
  using counts = block_report<Thread, Report>;
  using totals = typename counts::totals;
  static constexpr bool sums_by_warps = requires { requires totals::sums_by_warps; };
  static constexpr bool sees_blocks = requires { requires totals::sees_blocks; };
  /// The operands whose draws have keys. Those of squares are not in the order of memory.
  static constexpr int keyed = sees_blocks ? 0 : (0 + ... + int{KernelOperand::has_keys});
  static_assert(!sums_by_warps || 32 * chunk_size == 256, "a warp's chunks are not a group");

 public:
  LOWP_FN tile_runner(Thread const& thread, Function const& function, Report* reports,
                      std::uint32_t stride, int width)
      : thread_(thread), function_(function), report_(thread, reports, stride), width_(width) {}

  template <class Table>
  LOWP_FN void run(Table const& table, KernelOperand const&... kernel_operands) {
    std::uint64_t const per_tile = chunk_size * chunks_of_tile<KernelOperand...>(thread_.threads());
    for (std::uint64_t tile = thread_.block(); tile < table.tiles; tile += thread_.blocks()) {
      auto const& tensor = table.at[table.find(tile)];
      if constexpr (is_reported<Report>) report_.begin(tensor.number);
      std::uint64_t const begin = (tile - tensor.first_tile) * per_tile;
      if constexpr (keyed > 0)
        if (tile != thread_.block()) thread_.barrier();  // others may draw by the last tile's keys
      auto const run_tile = [&](auto is_whole) {
        run_turns<is_whole>(
            begin, tensor.count,
            accessor_of<KernelOperand>(
                kernel_operands, tensor.data + first_part<static_cast<int>(K)>, tensor.number)...);
      };
      bool const is_full = Text == kernel_text::full || width_ == full_width;
      if (has_whole && is_full && tensor.count - begin >= per_tile)
        run_tile(std::bool_constant<has_whole>{});
      else
        run_tile(std::false_type{});
    }
    if constexpr (is_reported<Report>) report_.flush();
  }

 private:
  template <bool IsWhole, class P, class... Accessor>
  LOWP_FN void run_turns(std::uint64_t begin, std::uint64_t end, P&& p, Accessor&&... other) {
    unsigned const lane = thread_.thread() % warp_threads_of(thread_);
    std::uint64_t const first = begin +
                                (thread_.thread() - lane) * chunk_size * (has_scales ? passes : 1) +
                                lane * (chunk_size / (IsWhole ? runs : 1));
    if constexpr (sees_blocks)
      if (p.reads_ahead(thread_)) read_ahead(begin + thread_.thread() * chunk_size, p, other...);
    std::uint64_t const per_turn = std::uint64_t{thread_.threads()} * passes;
    std::uint64_t const chunks = chunks_of_tile<KernelOperand...>(thread_.threads());
    for (std::uint64_t i = 0; i < chunks; i += per_turn)
      run_passes<IsWhole>(begin, first + i * chunk_size, end, p, other...);
    if constexpr (sees_blocks) p.store_scales(thread_, begin, end);
  }
  /// Finds the largest magnitude of a square that has more chunks than a block has threads.
  template <class P, class Accessor>
  LOWP_FN void read_ahead(std::uint64_t first, P& p, Accessor& from) {
    std::uint32_t largest = 0;
    for (std::uint64_t i = 0; i < P::square; i += thread_.threads()) {
      float x[chunk_size];
      at_width([&](auto width) {
        from.template load<width>(0, thread_, p.place(thread_, first + i * chunk_size), chunk_size);
      });
      from.decode(thread_, 0, x);
      largest = lanes::max(largest, largest_of(x));
    }
    p.keep_largest(thread_, largest);
  }

  // All loads of a thread come before any of its arithmetic.
  template <bool IsWhole, class P, class... Accessor>
  LOWP_FN void run_passes(std::uint64_t begin, std::uint64_t first, std::uint64_t end, P& p,
                          Accessor&... other) {
    chunk_place order(first,
                      (has_scales ? warp_threads_of(thread_) : thread_.threads()) * chunk_size);
    if constexpr (sees_blocks) order = p.order(thread_, order);
    auto const at = [&](int pass) {
      return chunk_place(order.of_first_pass, static_cast<std::uint32_t>(pass) * order.further);
    };
    // In memory: chunks of a square are successive.
    auto const place = [&](int pass) -> chunk_place {
      if constexpr (sees_blocks)
        return p.place(thread_, at(pass));
      else
        return at(pass);
    };
    LOWP_UNROLL_ON_GPU
    for (int pass = 0; pass < passes; ++pass) {
      int const count = IsWhole ? chunk_size : valid(at(pass), end);
      at_width<IsWhole>([&](auto width) {
        p.template load<width>(pass, thread_, place(pass), count);
        (other.template load<width>(pass, thread_, place(pass), count), ...);
      });
    }
    if constexpr (keyed > 0) make_group_keys<passes, keyed>(thread_, begin, p, other...);
    if constexpr (shares_scales<P, Accessor...>)
      p.find_all_scales(
          thread_, other..., place,
          [&](int pass) { return IsWhole || P::block_of(at(pass)) < end; }, of_tensor());
    LOWP_UNROLL_ON_GPU
    for (int pass = 0; pass < passes; ++pass) {
      int const count = IsWhole ? chunk_size : valid(at(pass), end);
      if (count != 0 || is_collective || sums_by_warps)
        run_chunk<IsWhole>(std::index_sequence_for<Accessor...>{}, pass, place(pass), count, p,
                           other...);
    }
  }
  /// True if a copy's scales are found for all passes at once.
  template <class P, class... Accessor>
  static constexpr bool shares_scales =
      passes > 1 && requires(Thread const& thread, Accessor&... from) {
        requires Function::copies && P::shares_scales;
        (from.largest(thread, 0), ...);
      };
  /// A tensor's numbers and counts, for an operand whose rule has tiles.
  struct tensor_counts {
    Function const& numbers;
    totals& counts;
  };
  LOWP_FN tensor_counts of_tensor() { return {function_, report_.counted}; }
  LOWP_FN static int valid(std::uint64_t at, std::uint64_t end) {
    return at >= end ? 0 : end - at < chunk_size ? static_cast<int>(end - at) : chunk_size;
  }

  template <bool IsWhole, std::size_t... J, class Parameter, class... Accessor>
  LOWP_FN void run_chunk(std::index_sequence<J...>, int pass, chunk_place const& at, int count,
                         Parameter& p, Accessor&... other) {
    float x[sizeof...(K)][chunk_size];
    p.decode(thread_, pass, x[0]);
    (other.decode(thread_, pass, x[J + 1]), ...);
    constexpr bool sees_moments = requires { requires totals::sees_moments; };
    if constexpr (requires { requires totals::sees_codes; }) {
      chunk_bits const random = p.bits(at);
      p.clear();
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k) {
        float const old = x[0][k];
        float const u = function_(x[K][k]...);
        auto const now = p.set(k, x[0][k], random(k));
        if constexpr (sums_by_warps)
          report_.counted.add(k, k < count, u, p.code(pass, k), now.code, old,
                              Parameter::decoded(now.code), now.overflowed);
        else if (k < count)
          report_.counted.add(u, p.code(pass, k), now.code, old, Parameter::decoded(now.code),
                              now.overflowed, x[1][k]);
      }
    } else {
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k) {
        if constexpr (!is_reported<Report> || sees_moments || sees_blocks)
          function_(x[K][k]...);
        else if constexpr (requires { requires totals::sees_groups; })
          report_.counted.set(k, k < count, function_(x[K][k]...));
        else if (auto const observed = function_(x[K][k]...); k < count)
          report_.counted.add(observed);
      }
      if constexpr (shares_scales<Parameter, Accessor...>)
        p.encode_found(thread_, pass, x[0], other..., at, count, of_tensor());
      else
        p.encode(thread_, x[0], at, count, of_tensor());
      if constexpr (sees_moments)
        (count_moment<static_cast<int>(J) - 1>(pass, at, count, x[J + 1], other), ...);
    }
    constexpr bool has_moments = sums_by_warps && sizeof...(J) > 1;
    if constexpr (is_reported<Report> && !has_moments)
      report_.end_chunk(count, pass, pass == passes - 1);
    (other.encode(thread_, x[J + 1], at, count, of_tensor()), ...);
    if constexpr (has_moments) {
      std::uint32_t seen = 0;
      ((seen |= J == 0 ? 0 : bits_of(x[J + 1])), ...);
      bool const are_small = (seen & lanes::bits(2.0f)) == 0;  // infinity and NaN are not
      (mark_moment<J>(are_small, count, other), ...);
      report_.end_chunk(count, pass, pass == passes - 1);
    }
    at_width<IsWhole>([&](auto width) {
      p.template store<width>(thread_, at, count);
      (other.template store<width>(thread_, at, count), ...);
    });
  }

  /// Calls body with the width of accesses.
  template <bool IsWhole = false>
  LOWP_FN void at_width(auto const& body) const {
    if constexpr (IsWhole && runs > 1)
      body(std::integral_constant<int, width_in_runs(runs)>{});
    else if constexpr (IsWhole || Text == kernel_text::full)
      body(std::integral_constant<int, full_width>{});
    else
      with_width(width_, body);
  }

  /// Returns the bits that any element has set.
  LOWP_FN static std::uint32_t bits_of(float const (&x)[chunk_size]) {
    std::uint32_t seen = 0;
    LOWP_UNROLL_ON_GPU
    for (float const each : x) seen |= lanes::bits(each);
    return seen;
  }
  /// Makes terms infinite whose elements have a moment that is not finite, as it was encoded.
  template <std::size_t Number, class Accessor>
  LOWP_FN void mark_moment(bool are_small, int count, Accessor const& moment) {
    if constexpr (Number > 0) {  // 0 is the gradient
      if (are_small && Accessor::keeps_small) return;
      if (!moment.may_be_nonfinite()) return;
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k)
        if (k < count && !lanes::is_finite(moment.written(k))) report_.counted.make_nonfinite(k);
    }
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
          report_.counted.template add<Moment>(before, after, Accessor::decoded(before), exact[k],
                                               Accessor::decoded(after));
      }
    }
  }

  Thread const& thread_;
  Function const& function_;
  counts report_;
  int width_;
};

}  // namespace lowp::cuda
