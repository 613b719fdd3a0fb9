// SPDX-License-Identifier: Apache-2.0
// The kernel that counts labels: see simd::label_call. Nothing is allocated: tiles leave their
// numbers in the memory of the counts, as bits.
#pragma once

#include <lowp/cuda/tuning.hpp>
#include <lowp/lanes/lanes.hpp>
#include <lowp/simd/rows/row_call.hpp>

namespace lowp::cuda {

template <class Label>
struct label_kernel_call {
  static constexpr unsigned least_blocks = 0;
  static constexpr bool is_collective = true;

  simd::label_call<Label> call;
  enum { count, add, spread } step;  ///< labels by tiles; their numbers by one; the sum to the rest
  std::uint64_t begin, end;          ///< the elements of the step
  struct {
    std::uint64_t tiles;
  } table;

  template <class Thread>
  LOWP_FN void run(Thread const& thread) const {
    for (std::uint64_t tile = thread.block(); tile < table.tiles; tile += thread.blocks()) {
      std::uint64_t const first = begin + tile * thread.threads() + thread.thread();
      if (step == spread)
        write(thread, call.counts[0], first);
      else
        run_tile(thread, tile, first);
    }
  }

 private:
  template <class Thread>
  LOWP_FN void run_tile(Thread const& thread, std::uint64_t tile, std::uint64_t first) const {
    auto* const sums = thread.template shared<std::uint64_t>();
    std::uint64_t own = 0;
    for (std::uint64_t i = first; i < end; i += table.tiles * thread.threads())
      own += step == add ? std::uint64_t{lanes::bits(call.counts[i])}
                         : std::uint64_t{call.labels[i] != call.ignored};
    sums[thread.thread()] = own;
    for (unsigned half = thread.threads() / 2; half != 0; half /= 2) {
      thread.barrier();
      if (thread.thread() < half) sums[thread.thread()] += sums[thread.thread() + half];
    }
    thread.barrier();
    if (table.tiles == 1) write(thread, static_cast<float>(sums[0]), first);
    if (thread.thread() != 0) return;
    if (table.tiles != 1)
      call.counts[tile] = lanes::from_bits<float>(static_cast<std::uint32_t>(sums[0]));
    else if (call.seen != nullptr)
      typename Thread::atomics{}.add(*call.seen, sums[0] - call.rows);
  }
  template <class Thread>
  LOWP_FN void write(Thread const& thread, float sum, std::uint64_t first) const {
    for (std::uint64_t i = first; i < end; i += table.tiles * thread.threads())
      call.counts[i] = sum;
  }
};

template <class Grid, class Label>
void run_row_call(Grid& grid, simd::label_call<Label> const& call) {
  using kernel = label_kernel_call<Label>;
  std::uint64_t const of_tile = std::uint64_t{grid.threads()} * tuning::labels_of_thread;
  std::uint64_t const wanted = (call.rows + of_tile - 1) / of_tile;
  std::uint64_t const tiles = wanted < tuning::most_label_tiles ? wanted : tuning::most_label_tiles;
  auto const run = [&](kernel const& step) { grid.template run<simd::no_report>(step); };
  if (tiles != 0) run({call, kernel::count, 0, call.rows, {tiles}});
  if (tiles < 2) return;
  run({call, kernel::add, 0, tiles, {1}});
  run({call, kernel::spread, tiles, call.rows, {tiles}});
}

}  // namespace lowp::cuda
