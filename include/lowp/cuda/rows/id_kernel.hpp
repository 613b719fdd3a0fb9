// SPDX-License-Identifier: Apache-2.0
// The kernels of calls over ids: see simd/rows/ids.hpp. And the one that counts labels: see
// simd::label_call.
#pragma once

#include <lowp/cuda/grid.hpp>
#include <lowp/cuda/rows/row_team.hpp>
#include <lowp/cuda/tuning.hpp>
#include <lowp/simd/rows/ids.hpp>

namespace lowp::cuda {

/// A simd::gather_call for the threads of a grid: a row for each warp.
template <class Id>
struct gather_kernel_call {
  static constexpr unsigned least_blocks = 0;
  static constexpr bool is_collective = false;

  simd::gather_call<Id> call;
  int width;  ///< bytes of an access, which divide those of a row
  block_tiles table;

  LOWP_FN void run(auto const& thread) const {
    std::uint64_t const warps = thread.threads() / warp_threads;
    for (std::uint64_t tile = thread.block(); tile < table.tiles; tile += thread.blocks()) {
      std::uint64_t const row = tile * warps + thread.thread() / warp_threads;
      if (row >= call.rows) continue;
      width == 16  ? copy<16>(thread, row)
      : width == 4 ? copy<4>(thread, row)
      : width == 2 ? copy<2>(thread, row)
                   : copy<1>(thread, row);
    }
  }

 private:
  template <int Bytes>
  LOWP_FN void copy(auto const& thread, std::uint64_t row) const {
    using words = piece<Bytes>;
    Id const id = call.ids[row];
    bool const is_zero = id == call.ignored;
    bool const is_row = !is_zero && static_cast<std::uint64_t>(id) < call.table_rows;
    unsigned char const* const from =
        call.table + (is_row ? static_cast<std::uint64_t>(id) * call.table_stride : 0);
    unsigned char* const to = call.out + row * call.stride;
    words other;
    for (auto& word : other.word)
      word = static_cast<typename words::word_type>(is_zero ? 0 : call.nan);
    for (std::uint64_t at = thread.thread() % warp_threads * Bytes; at < call.row_bytes;
         at += warp_threads * Bytes)
      thread.write(to + at, is_row ? thread.template read<words>(from + at) : other);
  }
};

/// A simd::id_order_call for the threads of a grid. Blocks sort chunks of rows in shared memory. A
/// key's place is the number of smaller keys in all chunks, so nothing depends on threads.
template <class Id>
struct id_order_kernel_call {
  static constexpr unsigned least_blocks = 0;
  static constexpr bool is_collective = true;
  static constexpr std::uint64_t in_chunk = 1024;

  simd::id_order_call<Id> call;
  bool has_chunks;
  block_tiles table;  // the chunks

  LOWP_FN void run(auto const& thread) const {
    for (std::uint64_t chunk = thread.block(); chunk < table.tiles; chunk += thread.blocks())
      has_chunks ? merge(thread, chunk) : sort(thread, chunk);
  }

 private:
  LOWP_FN std::uint64_t size_of(std::uint64_t chunk) const {
    std::uint64_t const rest = call.rows - chunk * in_chunk;
    return rest < in_chunk ? rest : in_chunk;
  }
  LOWP_FN std::uint64_t key_of(std::uint64_t row) const {
    Id const id = call.ids[row];
    bool const counts = id != call.ignored && static_cast<std::uint64_t>(id) < call.table_rows;
    return simd::key_of_row(counts ? static_cast<std::uint64_t>(id) : simd::no_id, row);
  }
  LOWP_FN void sort(auto const& thread, std::uint64_t chunk) const {
    auto* const keys = thread.template shared<std::uint64_t, in_chunk>();
    std::uint64_t const first = chunk * in_chunk, size = size_of(chunk);
    for (std::uint64_t i = thread.thread(); i < size; i += thread.threads())
      keys[i] = key_of(first + i);
    thread.barrier();
    for (std::uint64_t i = thread.thread(); i < size; i += thread.threads()) {
      std::uint64_t const key = keys[i];
      std::uint32_t smaller = 0;
      for (std::uint64_t k = 0; k < size; ++k) smaller += keys[k] < key ? 1 : 0;
      call.keys[first + smaller] = key;
    }
    thread.barrier();  // before the next chunk's keys
  }
  LOWP_FN void merge(auto const& thread, std::uint64_t own) const {
    for (std::uint64_t i = thread.thread(); i < size_of(own); i += thread.threads()) {
      std::uint64_t const key = call.keys[own * in_chunk + i];
      std::uint64_t place = i;
      for (std::uint64_t chunk = 0; chunk < table.tiles; ++chunk)
        if (chunk != own) place += smaller_in(chunk, key);
      call.keys[call.rows + place] = key;
    }
  }
  LOWP_FN std::uint64_t smaller_in(std::uint64_t chunk, std::uint64_t key) const {
    std::uint64_t const size = size_of(chunk);
    std::uint64_t smaller = 0;
    for (std::uint64_t step = in_chunk; step != 0; step /= 2)
      if (smaller + step <= size && call.keys[chunk * in_chunk + smaller + step - 1] < key)
        smaller += step;
    return smaller;
  }
};

template <class Grid, class Id>
void run_row_call(on_grid<Grid> const& on, simd::gather_call<Id> const& call) {
  if (call.rows == 0) return;
  std::uint64_t const all = reinterpret_cast<std::uintptr_t>(call.table) |
                            reinterpret_cast<std::uintptr_t>(call.out) | call.table_stride |
                            call.stride | call.row_bytes;
  int const width = all % 16 == 0 ? 16 : all % 4 == 0 ? 4 : all % 2 == 0 ? 2 : 1;
  std::uint64_t const warps = on.grid.threads() / warp_threads;
  on.grid.template run<simd::no_report>(
      gather_kernel_call<Id>{call, width, {(call.rows + warps - 1) / warps}});
}
template <class Grid, class Id>
void run_row_call(on_grid<Grid> const& on, simd::id_order_call<Id> const& call) {
  using kernel = id_order_kernel_call<Id>;
  std::uint64_t const chunks = (call.rows + kernel::in_chunk - 1) / kernel::in_chunk;
  for (bool const has_chunks : {false, true})
    if (chunks != 0) on.grid.template run<simd::no_report>(kernel{call, has_chunks, {chunks}});
}

/// Allocates nothing: tiles leave their numbers in the memory of the counts, as bits.
template <class Label>
struct label_kernel_call {
  static constexpr unsigned least_blocks = 0;
  static constexpr bool is_collective = true;

  simd::label_call<Label> call;
  enum { count, add, spread } step;  ///< labels by tiles; their numbers by one; the sum to the rest
  std::uint64_t begin, end;          ///< the elements of the step
  block_tiles table;

  LOWP_FN void run(auto const& thread) const {
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
  LOWP_FN void write(auto const& thread, float sum, std::uint64_t first) const {
    for (std::uint64_t i = first; i < end; i += table.tiles * thread.threads())
      call.counts[i] = sum;
  }
};

template <class Grid, class Label>
void run_row_call(on_grid<Grid> const& on, simd::label_call<Label> const& call) {
  using kernel = label_kernel_call<Label>;
  std::uint64_t const of_tile = std::uint64_t{on.grid.threads()} * tuning::labels_of_thread;
  std::uint64_t const wanted = (call.rows + of_tile - 1) / of_tile;
  std::uint64_t const tiles = wanted < tuning::most_label_tiles ? wanted : tuning::most_label_tiles;
  auto const run = [&](kernel const& step) { on.grid.template run<simd::no_report>(step); };
  if (tiles != 0) run({call, kernel::count, 0, call.rows, {tiles}});
  if (tiles < 2) return;
  run({call, kernel::add, 0, tiles, {1}});
  run({call, kernel::spread, tiles, call.rows, {tiles}});
}

}  // namespace lowp::cuda
