// SPDX-License-Identifier: Apache-2.0
// Sums over rows that a loop over rows leaves as it goes, so that it reads its operands once. A
// line has them for some rows: a group's as floats, or those of sixteen groups as doubles. A
// line_call adds up lines: see column_loop.hpp.
#pragma once

#include <lowp/lanes/row_folds.hpp>
#include <lowp/simd/rows/row_call.hpp>

namespace lowp::simd {

inline constexpr std::size_t column_group = 16, column_run = column_group * column_group;

/// Lines in memory. Each has all sums: sum K of column c is at K * room + c.
struct sum_lines {
  /// With fewer rows, groups have lines, so that enough threads have work.
  static constexpr std::size_t least_rows = column_run * column_run;

  void* memory;
  std::size_t all_rows, rows;  ///< rows: those of a line, column_group or column_run
  std::size_t room, width;     ///< floats or doubles of a sum, and of a line

  /// @param least  rows below which groups have lines
  LOWP_FN static constexpr sum_lines of(std::size_t all, std::size_t columns, std::size_t sums,
                                        std::size_t least) {
    std::size_t const room = (columns + 15) / 16 * 16;
    bool const has_groups = all < least;
    return {nullptr, all, has_groups ? column_group : column_run, room, room * sums};
  }
  LOWP_FN constexpr std::size_t count() const { return (all_rows + rows - 1) / rows; }
  LOWP_FN constexpr bool has_groups() const { return rows == column_group; }
  LOWP_FN double* run_of(std::size_t row) const {
    return static_cast<double*>(memory) + row / rows * width;
  }
  LOWP_FN float* group_of(std::size_t row) const {
    return static_cast<float*>(memory) + row / rows * width;
  }
  LOWP_FN constexpr std::size_t bytes() const {
    return count() * width * (has_groups() ? sizeof(float) : sizeof(double));
  }
};

LOWP_EXACT_BEGIN

/// A row_call that leaves `Sums` sums for each column. Its first row begins a line.
template <class RowCall, int Sums>
struct summing_row_call : RowCall {
  static constexpr bool has_lines = true;

  sum_lines lines;

  template <class Isa>
  LOWP_HOST_FN void body() const {
    row_loop<Isa, summing_row_call>(*this).over_rows();
  }
  /// Returns the sums of a row's group: `own`, if these suffice.
  LOWP_HOST_FN float* sums_at(std::size_t row, float* sums, float* own, std::size_t most) const {
    if (row % column_group != 0) return sums;
    if (lines.has_groups())
      sums = lines.group_of(row);
    else
      sums = lines.width <= most ? own : wide_sums(row);
    __builtin_memset(sums, 0, lines.width * sizeof(float));
    return sums;
  }
  /// Adds a group to its run behind the group's last row.
  template <class F>
  LOWP_HOST_FN void end_row(std::size_t row, std::size_t end, float const* sums) const {
    if (lines.has_groups() || ((row + 1) % column_group != 0 && row + 1 != end)) return;
    using D = lanes::wide<F>;
    double* const to = lines.run_of(row);
    bool const is_first = row % column_run < column_group;
    for (std::size_t e = 0; e < lines.width; e += std::size_t{F::lanes}) {
      D const run = is_first ? lanes::broadcast<D>(0) : D::load(to + e);
      lanes::add(run, lanes::widen(F::load(sums + e))).store(to + e);
    }
  }
  /// Adds the scores of a pack to its sums, beginning with sum K.
  template <class F, int K = 0>
  LOWP_HOST_FN void add_to(auto const& state, float* sums, auto const&... score) const {
    F sum = F::load(sums);
    RowCall::operation.add_to(fold::number<K>{}, sum, state, score...);
    sum.store(sums);
    if constexpr (K + 1 < Sums) add_to<F, K + 1>(state, sums + lines.room, score...);
  }
  /// Returns the memory of lines, which have room for the sums of a wide row's group, too.
  LOWP_HOST_FN std::size_t bytes() const {
    return lines.bytes() + (lines.has_groups() ? 0 : lines.bytes() / 2);
  }

 private:
  LOWP_HOST_FN float* wide_sums(std::size_t row) const {
    return reinterpret_cast<float*>(static_cast<double*>(lines.memory) +
                                    lines.count() * lines.width) +
           row / lines.rows * lines.width;
  }
};

LOWP_EXACT_END

}  // namespace lowp::simd
