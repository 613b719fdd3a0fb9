// SPDX-License-Identifier: Apache-2.0
// The kernel over columns: see simd/rows/column_loop.hpp.
//
// A warp has 32 columns. Each warp of a block adds up sixteen rows. Then the first one adds these
// sums in order. If many groups have sums of their own, a block has more columns. Its warps share
// these if a group has no more than sixteen rows. Else the blocks of the group's first places do.
#pragma once

#include <lowp/cuda/rows/row_plan.hpp>
#include <lowp/simd/rows/sum_lines.hpp>

namespace lowp::cuda {

/// Writes a sum of column `column` in row `row`, or adds it to what is there.
template <class Thread, class To>
LOWP_FN void write_sum(Thread const& thread, row_operand<To> const& to, std::uint64_t row,
                       std::uint32_t column, double sum) {
  using T = typename To::type;
  row_accessor<To, typename Thread::hardware, 1> at(to, row, column);
  if constexpr (To::is_read) sum = lanes::add(lanes::widen(at.element(thread, 0)), sum);
  if constexpr (narrow<T>)
    at.write_one(thread, read_number<double>(lanes::bits(sum), simd::rounding_of_sum<T>{}, 0,
                                             overflow::infinity));
  else
    at.write_one(thread, lane<float>::narrowed(sum));
}

/// Adds up the lines of a summing kernel: a warp has 32 columns of a sum. All warps of a block read
/// the next runs while the first one adds those before in order.
template <class Sums>
struct line_kernel_call;
template <std::size_t... K, class... Sum>
struct line_kernel_call<row_operands<std::index_sequence<K...>, Sum...>> {
  static constexpr unsigned least_blocks = 0, team_threads = warp_threads;
  static constexpr bool is_collective = true;
  static constexpr unsigned at_once = 8;  ///< runs that a warp reads

  simd::sum_lines lines;
  std::uint32_t columns;
  row_operands<std::index_sequence<K...>, Sum...> sums;
  std::uint32_t dynamic_bytes;
  block_tiles table;

  LOWP_FN void run(auto const& thread) const {
    unsigned const all = thread.threads() / warp_threads * at_once;
    unsigned const lane = thread.thread() % warp_threads, warp = thread.thread() / warp_threads;
    auto* terms = reinterpret_cast<double*>(thread.dynamic_memory()) + lane;
    std::uint64_t const runs = (lines.all_rows + simd::column_run - 1) / simd::column_run;
    std::ptrdiff_t other = all * warp_threads;
    for (std::uint64_t tile = thread.block(); tile < table.tiles; tile += thread.blocks()) {
      std::uint32_t const of_sum = (columns + warp_threads - 1) / warp_threads;
      std::uint32_t const k = static_cast<std::uint32_t>(tile) / of_sum;
      std::uint32_t const column = static_cast<std::uint32_t>(tile) % of_sum * warp_threads + lane;
      bool const has_column = column < columns;
      std::size_t const at = k * lines.room + column;
      double total = 0, read[at_once];
      std::uint64_t next = warp * at_once;
      read_runs(next, has_column ? runs : 0, at, read);
      for (std::uint64_t first = 0; first < runs; first += all) {
        LOWP_UNROLL_ON_GPU
        for (unsigned i = 0; i < at_once; ++i) terms[(warp * at_once + i) * warp_threads] = read[i];
        thread.barrier();
        read_runs(next += all, has_column ? runs : 0, at, read);
        if (warp == 0)
          for (unsigned n = 0; n < all && first + n < runs; n += at_once) {
            double some[at_once];
            LOWP_UNROLL_ON_GPU
            for (unsigned i = 0; i < at_once; ++i) some[i] = terms[(n + i) * warp_threads];
            LOWP_UNROLL_ON_GPU
            for (unsigned i = 0; i < at_once; ++i)
              if (first + n + i < runs) total = lanes::add(total, some[i]);
          }
        // The first warp still reads these while the others are written.
        terms += other;
        other = -other;
      }
      if (warp == 0 && has_column)
        ((k == K ? write_sum(thread, sums.template indexed<K, row_operand<Sum>>::value, 0, column,
                             total)
                 : void()),
         ...);
    }
  }

 private:
  LOWP_FN void read_runs(std::uint64_t first, std::uint64_t end, std::size_t at,
                         double (&to)[at_once]) const {
    LOWP_UNROLL_ON_GPU
    for (unsigned i = 0; i < at_once; ++i) to[i] = first + i < end ? run_at(first + i, at) : 0;
  }
  LOWP_FN double run_at(std::uint64_t n, std::size_t at) const {
    constexpr unsigned groups = simd::column_run / simd::column_group;
    if (!lines.has_groups()) return static_cast<double const*>(lines.memory)[n * lines.width + at];
    auto const* const from = static_cast<float const*>(lines.memory) + at;
    std::uint64_t const all = (lines.all_rows + simd::column_group - 1) / simd::column_group;
    float of_group[groups];
    LOWP_UNROLL_ON_GPU
    for (unsigned g = 0; g < groups; ++g)
      of_group[g] = n * groups + g < all ? from[(n * groups + g) * lines.width] : 0;
    double run = 0;
    LOWP_UNROLL_ON_GPU
    for (unsigned g = 0; g < groups; ++g)
      if (n * groups + g < all) run = lanes::add(run, lanes::widen(of_group[g]));
    return run;
  }
};

template <class Operation, class Groups, class Scores, class Sums>
struct column_kernel_call;

/// A simd::column_call for the threads of a grid.
template <class Operation, class Groups, class Scores, std::size_t... K, class... Sum>
struct column_kernel_call<Operation, Groups, Scores,
                          row_operands<std::index_sequence<K...>, Sum...>> {
  static constexpr bool is_one = std::same_as<Groups, simd::one_group>;
  static constexpr unsigned least_blocks =
      tuning::least_row_blocks(Scores::size + (is_one ? 0 : 1), 0, false, false);
  static constexpr unsigned team_threads = warp_threads;
  static constexpr bool is_collective = true;

  Operation operation;
  Groups groups;
  std::uint32_t columns, of_tile;  ///< all, and those of a block
  Scores scores;
  row_operands<std::index_sequence<K...>, Sum...> sums;
  std::uint32_t dynamic_bytes;
  block_tiles table;

  LOWP_FN void run(auto const& thread) const {
    std::uint32_t const tiles_of_row = (columns + of_tile - 1) / of_tile;
    for (std::uint64_t tile = thread.block(); tile < table.tiles; tile += thread.blocks()) {
      std::uint32_t const pieces = of_tile / warp_threads;
      std::uint32_t const piece = groups.before(tile / tiles_of_row, pieces);
      if (piece == pieces) continue;
      std::uint64_t const place = tile / tiles_of_row - piece;
      std::uint64_t const end = groups.end(place);
      std::uint32_t const column = static_cast<std::uint32_t>(tile % tiles_of_row) * of_tile;
      if constexpr (!is_one)
        if (end - place <= simd::column_group) {
          if (piece == 0) sum_few(thread, place, end, column + thread.thread());
          continue;
        }
      for (std::uint64_t n = piece; n < pieces; n += end - place)
        if (std::uint64_t const first = column + n * warp_threads; first < columns)
          sum_columns(thread, place, end,
                      static_cast<std::uint32_t>(first) + thread.thread() % warp_threads);
    }
  }

 private:
  LOWP_FN void sum_few(auto const& thread, std::uint64_t place, std::uint64_t end,
                       std::uint32_t column) const {
    float sum[sizeof...(K)] = {};
    if (column >= columns) return;
    for (std::uint64_t r = place; r < end; ++r) add_row(thread, groups.row(r), column, sum);
    (write_sum(thread, sums.template indexed<K, row_operand<Sum>>::value, groups.target(place),
               column, lanes::widen(sum[K])),
     ...);
  }
  LOWP_FN void sum_columns(auto const& thread, std::uint64_t place, std::uint64_t end,
                           std::uint32_t column) const {
    unsigned const warps = thread.threads() / warp_threads;
    unsigned const warp = thread.thread() / warp_threads;
    auto* const shared = reinterpret_cast<float*>(thread.dynamic_memory());
    double totals[sizeof...(K)] = {}, sixteen[sizeof...(K)] = {};
    constexpr std::uint64_t group = simd::column_group;
    unsigned turn = 0;
    for (std::uint64_t row = place; row < end; row += warps * group, turn ^= 1) {
      float sums_of_group[sizeof...(K)] = {};
      std::uint64_t const first = row + warp * group;
      if (column < columns)
        for (std::uint64_t r = first; r < first + group && r < end; ++r)
          add_row(thread, groups.row(r), column, sums_of_group);
      // The first warp still reads the others while these are written.
      float* const terms = shared + turn * thread.threads() * sizeof...(K);
      ((terms[thread.thread() + K * thread.threads()] = sums_of_group[K]), ...);
      thread.barrier();
      if (warp == 0)
        for (std::uint64_t w = 0; w < warps && row + w * group < end; ++w) {
          bool const starts = ((row - place) / group + w) % group == 0;
          ((totals[K] = starts ? lanes::add(totals[K], sixteen[K]) : totals[K]), ...);
          ((sixteen[K] = lanes::add(
                starts ? 0.0 : sixteen[K],
                lanes::widen(terms[w * warp_threads + thread.thread() + K * thread.threads()]))),
           ...);
        }
    }
    thread.barrier();
    if (warp == 0 && column < columns)
      (write_sum(thread, sums.template indexed<K, row_operand<Sum>>::value, groups.target(place),
                 column, lanes::add(totals[K], sixteen[K])),
       ...);
  }
  template <class Thread>
  LOWP_FN void add_row(Thread const& thread, std::uint64_t r, std::uint32_t column,
                       float (&to)[sizeof...(K)]) const {
    float x[Scores::size][chunk_size];
    row_accessors<Scores, typename Thread::hardware, 1> const from(scores, r);
    from.load_element(thread, column, 0, x);
    typename Operation::template state<float> s;
    operation.start(s, r);
    add_scores(to, s, x, typename Scores::indices{});
  }
  template <class State, std::size_t... J>
  LOWP_FN void add_scores(float (&to)[sizeof...(K)], State const& s,
                          float const (&x)[Scores::size][chunk_size],
                          std::index_sequence<J...>) const {
    (operation.add_to(fold::number<static_cast<int>(K)>{}, to[K], s, x[J][0]...), ...);
  }
};

template <class Grid, class Operation, class Groups, class Scores, class Sums>
void run_row_call(on_grid<Grid> const& on,
                  simd::column_call<Operation, Groups, Scores, Sums> const& call) {
  auto scores = row_operands_of(call.scores);
  auto sums = row_operands_of(call.sums);
  using kernel = column_kernel_call<Operation, Groups, decltype(scores), decltype(sums)>;
  std::uint32_t const of_tile = kernel::is_one ? warp_threads : on.grid.threads();
  std::uint64_t const tiles = call.groups.places * ((call.all_columns + of_tile - 1) / of_tile);
  if (tiles == 0) return;
  on.grid.template run<simd::no_report>(
      kernel{.operation = call.operation,
             .groups = call.groups,
             .columns = static_cast<std::uint32_t>(call.all_columns),
             .of_tile = of_tile,
             .scores = scores,
             .sums = sums,
             .dynamic_bytes =
                 static_cast<std::uint32_t>(2 * on.grid.threads() * sums.size * sizeof(float)),
             .table = {tiles}});
}

template <class Grid, class Sums>
void run_row_call(on_grid<Grid> const& on, simd::line_call<Sums> const& call) {
  auto sums = row_operands_of(call.sums);
  using kernel = line_kernel_call<decltype(sums)>;
  std::uint64_t const tiles = sums.size * ((call.all_columns + warp_threads - 1) / warp_threads);
  on.grid.template run<simd::no_report>(
      kernel{call.lines,
             static_cast<std::uint32_t>(call.all_columns),
             sums,
             static_cast<std::uint32_t>(2 * on.grid.threads() * kernel::at_once * sizeof(double)),
             {tiles}});
}

}  // namespace lowp::cuda
