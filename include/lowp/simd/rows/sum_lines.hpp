// SPDX-License-Identifier: Apache-2.0
// Sums over rows that a loop over rows leaves as it goes, so that it reads its operands once. A
// line has them for some rows: a group's as floats, or those of sixteen groups as doubles.
#pragma once

#include <lowp/simd/rows/column_loop.hpp>

namespace lowp::simd {

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

/// Adds up the lines of a call over rows: 16 groups in double, and runs in double, each in order.
template <class Sums>
struct line_call;
template <std::size_t... K, class... Sum>
struct line_call<tuple_of<std::index_sequence<K...>, Sum...>> {
  static constexpr std::size_t width = 128;  ///< columns of a block, as in a column_call

  sum_lines lines;
  std::size_t all_columns;
  tuple<Sum...> sums;
  std::size_t first_row = 0, rows = (all_columns + width - 1) / width;
  std::size_t columns = width * lines.count() + 1;  ///< the work of a block

  template <class Isa>
  LOWP_HOST_FN void body() const {
    using F = pack<float, typename Isa::registers>;
    using D = lanes::wide<F>;
    using accessors = row_accessors<Isa, tuple<Sum...>>;
    constexpr std::size_t size = Isa::lanes;
    typename accessors::scratch scratch;
    accessors to(sums, 0, std::move(scratch));
    to.start(0);
    for (std::size_t first = first_row * width; first < (first_row + rows) * width;
         first += width) {
      std::size_t const rest = all_columns - first, count = rest < width ? rest : width;
      D totals[width / size][sizeof...(K)];
      for (auto& total : totals) ((total[K] = lanes::broadcast<D>(0)), ...);
      for (std::size_t run = 0; run < lines.all_rows; run += column_run)
        for (std::size_t e = 0; e < count; e += size)
          ((totals[e / size][K] =
                lanes::add(totals[e / size][K], run_at<F>(run, K * lines.room + first + e))),
           ...);
      write_sums<Isa>(sums, to, first, count, totals);
    }
  }

 private:
  template <class F>
  LOWP_HOST_FN auto run_at(std::size_t row, std::size_t at) const {
    using D = lanes::wide<F>;
    if (!lines.has_groups()) return D::load(lines.run_of(row) + at);
    D run = lanes::broadcast<D>(0);
    for (std::size_t r = row; r < row + column_run && r < lines.all_rows; r += column_group)
      run = lanes::add(run, lanes::widen(F::load(lines.group_of(r) + at)));
    return run;
  }
};

LOWP_EXACT_END

}  // namespace lowp::simd
