// SPDX-License-Identifier: Apache-2.0
// Plans the kernel of a call over rows: the threads that share a row, and its part on the chip.
#pragma once

#include <lowp/cuda/grid.hpp>
#include <lowp/cuda/rows/row_kernel.hpp>
#include <lowp/simd/rows/row_sum.hpp>

namespace lowp::cuda {

/// A simd::row_call for the threads of a grid.
template <unsigned TeamThreads, class Operation, class To, class Scores, class Columns,
          class Statistics, class Sum>
struct row_kernel_call {
  static constexpr bool has_visible =
      requires(Operation const& o) { o.visible(std::uint64_t{}, std::uint64_t{}); };
  static constexpr unsigned least_blocks = tuning::least_row_blocks(
      Scores::size + Sum::operands, static_cast<int>(Columns::indices::size()), has_visible,
      Sum::is_random || Sum::sums != 0);  // two blocks share the memory of rows and sums
  static constexpr unsigned team_threads = TeamThreads;
  static constexpr bool is_collective = true;
  /// True if each column of a row is seen, and no sum over rows is made.
  static constexpr bool is_plain = !has_visible && Sum::operands == 0 && Sum::sums == 0;
  /// True if a row of one chunk a thread may stay in registers. Two operands of columns leave none
  /// for rounding to 8 bits.
  static constexpr bool may_be_short = TeamThreads == warp_threads && is_plain &&
                                       sizeof(typename To::type) < 4 &&
                                       Columns::indices::size() < 2 * sizeof(typename To::type);
  /// True if a block's rows may begin anywhere in aligned chunks, in which they are moved and kept.
  /// Two scores that may be kept as floats, too, leave no registers.
  static constexpr bool may_be_shifted =
      TeamThreads != warp_threads && is_plain && Columns::indices::size() == 0 &&
      shared_scores<Operation> == 0 && !To::is_read &&
      (Scores::size == 1 || keeps_codes<Operation, Sum>) && sizeof(typename To::type) == 2 &&
      Scores::template have_bytes<2>;

  Operation operation;
  std::uint64_t rows;
  std::uint32_t columns;  ///< at most on_grid::most_stride
  row_operand<To> to;
  Scores scores;
  Columns per_column;
  Statistics statistics;
  [[no_unique_address]] Sum sum;
  int width;                   ///< widest permitted accesses
  bool is_cached, has_floats;  ///< true if shared memory has a whole row, and if as floats
  bool is_short;               ///< true if a thread has one whole chunk of a row, or none
  std::uint32_t room;          ///< elements of shared memory for an operand of a row, in row_units
  std::uint32_t shift;         ///< log2 of the threads that have a row of a warp
  std::uint32_t dynamic_bytes;
  block_tiles table;

  template <class Thread>
  LOWP_FN void run(Thread const& thread) const {
    row_runner<row_kernel_call, Thread>(*this, thread).run();
  }
};

/// Bytes that are loaded as words.
template <>
struct kernel_operand_for<simd::byte_operand> {
  using type = kernel_operand<std::byte, access::read>;
  static type of(simd::byte_operand const&, detail::nans) { return {}; }
};

template <class Operand, class Rows>
auto row_operand_of(simd::row_operand<Operand, Rows> const& o) {
  return row_operand<kernel_operand_of<Operand>>{
      kernel_operand_for<Operand>::of(o.operand, detail::nans::canonical),
      address_of(o.operand.data), static_cast<std::uint32_t>(o.stride), o.rows};
}

template <std::size_t... K, class... Operand>
auto row_operands_of(
    [[maybe_unused]] simd::tuple_of<std::index_sequence<K...>, Operand...> const& operands) {
  return row_operands<std::index_sequence<K...>,
                      decltype(row_operand_of(std::declval<Operand>()).kernel_operand)...>{
      {row_operand_of(simd::get<K>(operands))}...};
}

/// Returns true if every row of an operand permits accesses of `width` bytes.
template <class KernelOperand>
bool permits(int width, row_operand<KernelOperand> const& s) {
  using T = typename KernelOperand::type;
  return permits(width, static_cast<T const*>(s.data)) &&
         s.stride * sizeof(T) % static_cast<unsigned>(access_bytes<T>(width)) == 0;
}
template <std::size_t... K, class... KernelOperand>
bool permits([[maybe_unused]] int width,
             row_operands<std::index_sequence<K...>, KernelOperand...> const& kernel_operands) {
  return (permits(width, kernel_operands.indexed<K, row_operand<KernelOperand>>::value) && ...);
}

/// Returns true if every row begins at the same place of an aligned chunk as that of `to`.
template <class To, std::size_t... K, class... KernelOperand>
bool begins_as(row_operand<To> const& to,
               row_operands<std::index_sequence<K...>, KernelOperand...> const& kernel_operands) {
  auto const place = [](auto const& s) {
    return std::pair(reinterpret_cast<std::uintptr_t>(s.data) % 16, s.stride % chunk_size);
  };
  auto const is_same = [&](auto const& s) { return place(s) == place(to) && s.rows.repeats == 0; };
  return (is_same(kernel_operands.indexed<K, row_operand<KernelOperand>>::value) && ...);
}

/// The team for rows of a given width, and the part of a row in its shared memory.
struct row_plan {
  bool is_warp, is_cached;
  std::size_t room;         ///< elements of shared memory for each operand
  unsigned threads, shift;  ///< of a row, and their log2
  unsigned bytes;           ///< of a column of a row in shared memory
  bool has_floats;

  /// @param lead           elements that a block's row may have before it
  /// @param most_of_warps  bytes that the rows of a block of warps may take
  /// @param threads        threads of a block
  /// @param most_bytes     shared memory for the rows of a block
  static row_plan of(std::size_t columns, std::size_t lead, unsigned bytes, bool has_floats,
                     std::size_t most_of_warps, unsigned threads, std::size_t most_bytes) {
    constexpr std::size_t of_warp = fold::sums, of_block = fold::sums * chunk_size;
    std::size_t const warps = threads / warp_threads;
    for (unsigned shift = 3; shift < 5; ++shift)
      if (std::size_t const room = std::size_t{chunk_size} << shift; columns <= room)
        return {true, true, room, 1u << shift, shift, bytes, has_floats};
    std::size_t const short_room = (columns + of_warp - 1) / of_warp * of_warp;
    if (threads != fold::sums || short_room * bytes * warps <= most_of_warps)
      return {true, true, short_room, warp_threads, 5, bytes, has_floats};
    std::size_t const room = (columns + of_block - 1) / of_block * of_block + lead;
    bool const is_cached = room * bytes <= most_bytes;
    return {false, is_cached, is_cached ? room : 0, fold::sums, 0, bytes, has_floats && is_cached};
  }
};

/// Returns true if the operands of a sum permit accesses of `width` bytes; x is a score, too.
inline bool permits(int, no_row_sum const&) { return true; }  // line_sums, too
template <class Function, class X, class Addend>
bool permits(int width, row_sum<Function, X, Addend> const& sum) {
  return permits(width, sum.addend);
}

template <class Operation, class Scores, class Sum>
row_plan plan_of(auto& grid, std::size_t columns, std::size_t lead = 0) {
  std::size_t const most = grid.shared_bytes();
  std::size_t const of_warps =
      Sum::sums != 0 ? tuning::bytes_of_summing_warps : tuning::bytes_of_warps;
  auto const plan = [&](bool has_floats, std::size_t of_block) {
    return row_plan::of(columns, lead, kept_bytes<Operation, Scores, Sum>(has_floats), has_floats,
                        std::min(of_warps, most), grid.threads(), of_block);
  };
  // Values are costly: a row that is kept as it was loaded has them computed once more. That costs
  // less than threads that wait for a block, and than blocks that are alone in a multiprocessor.
  constexpr bool may_have_floats = !keeps_codes<Operation, Sum>,
                 may_have_codes = Sum::operands == 0;
  row_plan const codes = plan(!may_have_codes, most), floats = plan(may_have_floats, most);
  if (floats.is_warp || (floats.is_cached && !codes.is_warp)) return floats;
  if (codes.is_cached) return codes;
  // A second read costs most of all.
  row_plan const alone = plan(may_have_floats, grid.shared_bytes(1));
  return alone.is_cached ? alone : plan(!may_have_codes, grid.shared_bytes(1));
}

template <class Grid, class Operation, class Out, class Scores, class Columns, class Statistics,
          class Sum = no_row_sum>
void run_row_call(on_grid<Grid> const& on,
                  simd::row_call<Operation, Out, Scores, Columns, Statistics> const& call,
                  Sum const& sum = {}) {
  auto to = row_operand_of(call.out);
  auto scores = row_operands_of(call.scores);
  auto per_column = row_operands_of(call.per_column);
  auto statistics = row_operands_of(call.statistics);
  int const width = widest([&](int each) {
    return permits(each, to) && permits(each, scores) && permits(each, per_column) &&
           permits(each, sum);
  });
  using warp_call =
      row_kernel_call<warp_threads, Operation, decltype(to.kernel_operand), decltype(scores),
                      decltype(per_column), decltype(statistics), Sum>;
  using block_call =
      row_kernel_call<fold::sums, Operation, decltype(to.kernel_operand), decltype(scores),
                      decltype(per_column), decltype(statistics), Sum>;
  bool const is_shifted = block_call::may_be_shifted && width < widths[0] && begins_as(to, scores);
  row_plan plan =
      plan_of<Operation, decltype(scores), Sum>(on.grid, call.columns, is_shifted ? row_unit : 0);
  bool const is_short = plan.is_warp && warp_call::may_be_short && width == widths[0] &&
                        call.columns % chunk_size == 0 && call.columns <= fold::sums;
  if (is_short && call.columns <= 4 * chunk_size) plan.threads = 1u << (plan.shift = 2);
  if (is_short) plan.room = 0;
  std::size_t const teams = on.grid.threads() / plan.threads;
  auto const run = [&]<class Call>() {
    std::size_t tiles = (call.rows + teams - 1) / teams;
    if (is_short) tiles = std::min(tiles, tuning::short_row_blocks);
    if constexpr (Sum::sums != 0) {
      std::size_t const lines = sum.lines.count();
      tiles = !sum.lines.has_groups() || lines < tuning::busy_blocks
                  ? lines
                  : std::max(tuning::busy_blocks, (lines + teams - 1) / teams);
    }
    on.grid.template run<simd::no_report>(
        Call{.operation = call.operation,
             .rows = call.rows,
             .columns = static_cast<std::uint32_t>(call.columns),
             .to = to,
             .scores = scores,
             .per_column = per_column,
             .statistics = statistics,
             .sum = sum,
             .width = is_shifted && !plan.is_warp ? widths[0] : width,
             .is_cached = plan.is_cached,
             .has_floats = plan.has_floats,
             .is_short = is_short,
             .room = static_cast<std::uint32_t>(plan.room / row_unit),
             .shift = plan.shift,
             .dynamic_bytes = static_cast<std::uint32_t>(plan.room * plan.bytes * teams),
             .table = {tiles}});
  };
  plan.is_warp ? run.template operator()<warp_call>() : run.template operator()<block_call>();
}

template <class Grid, class RowCall, class Make, class X, class Addend>
void run_row_call(on_grid<Grid> const& on,
                  simd::summed_row_call<RowCall, Make, X, Addend> const& call) {
  auto const x = row_operand_of(call.x);
  auto const addend = row_operand_of(call.addend);
  using function = decltype(call.make_function());
  run_row_call(on, static_cast<RowCall const&>(call),
               row_sum<function, decltype(x.kernel_operand), decltype(addend.kernel_operand)>{
                   call.make_function(), x, addend});
}

/// Returns true if a block can keep a row of a call with its sums.
template <class Grid, class RowCall, int Sums>
bool may_keep_rows(on_grid<Grid> const& on, simd::summing_row_call<RowCall, Sums> const& call) {
  using scores = decltype(row_operands_of(call.scores));
  return plan_of<decltype(call.operation), scores, line_sums<Sums>>(on.grid, call.columns)
      .is_cached;
}

template <class Grid, class RowCall, int Sums>
void run_row_call(on_grid<Grid> const& on, simd::summing_row_call<RowCall, Sums> const& call) {
  run_row_call(on, static_cast<RowCall const&>(call), line_sums<Sums>{{}, call.lines});
}

}  // namespace lowp::cuda
