// SPDX-License-Identifier: Apache-2.0
// The numbers of the GPU's kernels that are chosen, in one place. No element depends on one, except
// that teams of a block need fold::sums threads.
#pragma once

#include <lowp/base/config.hpp>

namespace lowp::cuda {

struct tuning {
  /// Threads of a block; a power of two. A row's sums have one thread each: see rows/row_team.hpp.
  static constexpr unsigned block_threads = 256;

  /// The blocks of a kernel with a report, for each that a GPU has room for: few, because each adds
  /// to the report once, and more than one, because some multiprocessors are slower.
  static constexpr std::uint64_t reporting_turns = 2;

  /// The most blocks of a kernel whose blocks do much once: whole turns of 2, 4 or 5 blocks on each
  /// of 132 multiprocessors.
  static constexpr std::uint64_t few_blocks = 2640;

  /// Returns the chunks of each operand that a thread loads before it computes: at least 32 bytes
  /// in all. 1280 threads of a multiprocessor then have 40 KB in flight.
  /// @param shares_scales  a block's threads find the scales of several chunks in turns; the more
  ///                       chunks, the fewer instructions for each
  static constexpr int chunks(int bytes_of_chunks, bool shares_scales) {
    if (shares_scales) return bytes_of_chunks > 32 ? 2 : 4;
    return bytes_of_chunks >= 32 ? 1 : bytes_of_chunks >= 16 ? 2 : 4;
  }

  /// Returns the blocks for whose registers a multiprocessor must have room; 0 leaves it to the
  /// compiler. For a large text, with a report or any width alone, it would prefer more blocks
  /// to enough registers. For a random cast it would take more registers: less than 40 KB would be
  /// in flight in a multiprocessor. With tables, four blocks were a tenth faster than three.
  /// @param bytes_read  bytes of an element of all operands
  static constexpr unsigned least_blocks(bool is_large, bool has_tables, bool is_random_cast,
                                         int bytes_read) {
    return is_large ? 2 : has_tables ? 4 : is_random_cast && bytes_read == 4 ? 5 : 0;
  }

  /// Returns the chunks of a row that a thread loads before it computes: at most 64 bytes, because
  /// shared memory leaves room for fewer threads.
  static constexpr int row_chunks(int bytes_read) {
    return bytes_read <= 2 ? 4 : bytes_read <= 4 ? 2 : 1;
  }

  /// Returns the least blocks of a kernel over rows: five if that spills none.
  /// @param scores, per_column  the operands of a row, and those that all rows share
  static constexpr unsigned least_row_blocks(int scores, int per_column, bool has_visible,
                                             bool is_random) {
    return is_random ? 2 : scores > 2 ? 3 : scores == 1 && per_column == 0 && !has_visible ? 5 : 4;
  }

  /// The most blocks of short rows, the next one loaded ahead: whole turns of 3, 4 or 5 blocks.
  static constexpr std::size_t short_row_blocks = 132 * 60;

  /// The labels that a thread counts, and the most blocks that count. Each block leaves a number.
  static constexpr std::uint64_t labels_of_thread = 16, most_label_tiles = 1024;

  /// The most bytes that the rows of a block of warps take, without and with their sums. That is a
  /// row of 4096 columns of 16 bits, or 2048 of floats. A longer row has a block.
  static constexpr std::size_t bytes_of_warps = 64 << 10, bytes_of_summing_warps = 96 << 10;

  /// Blocks that keep a GPU busy: two for each of 132 multiprocessors.
  static constexpr std::size_t busy_blocks = 264;

  /// The blocks whose rows share a multiprocessor's memory: one computes while another waits.
  static constexpr int blocks_with_rows = 2;
};

}  // namespace lowp::cuda
