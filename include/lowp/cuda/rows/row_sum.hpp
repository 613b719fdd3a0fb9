// SPDX-License-Identifier: Apache-2.0
// The sums that precede a row's folds: see simd/rows/row_sum.hpp. A thread adds the chunks that it
// loads, stores them, and hands on what it has stored. And a team's sums over rows, in shared
// memory behind its row.
#pragma once

#include <lowp/cuda/rows/row_team.hpp>
#include <lowp/simd/rows/sum_lines.hpp>

namespace lowp::cuda {

struct no_row_sum {
  static constexpr int operands = 0, bytes_read = 0, sums = 0;
  static constexpr bool is_random = false;
};

template <class Function, class X, class Addend>
struct row_sum {
  static constexpr int operands = 2, bytes_read = Addend::bytes_read, sums = 0;
  static constexpr bool is_random = X::is_random;

  Function function;
  row_operand<X> x;
  row_operand<Addend> addend;
};

/// A thread's part of the sums of a row.
template <class Sum, class Hardware, int Chunks>
struct row_adder {
  LOWP_FN row_adder(Sum const&, std::uint64_t, std::uint32_t) {}
  template <int Width>
  LOWP_FN void load(auto const&...) {}
  LOWP_FN void add(auto const&...) {}
};
template <class Function, class X, class Addend, class Hardware, int Chunks>
class row_adder<row_sum<Function, X, Addend>, Hardware, Chunks> {
 public:
  LOWP_FN row_adder(row_sum<Function, X, Addend> const& sum, std::uint64_t r, std::uint32_t columns)
      : function_(sum.function), x_(sum.x, r), addend_(sum.addend, r), first_(r * columns) {}

  template <int Width, class Thread>
  LOWP_FN void load(int i, Thread const& thread, std::uint32_t column, int count) {
    addend_.template load<Width>(i, thread, column, count);
  }
  /// Changes x, a chunk, to its sums as they are stored.
  template <class Thread>
  LOWP_FN void add(int i, Thread const& thread, std::uint32_t column, int count, int width,
                   float (&x)[chunk_size]) {
    float addend[chunk_size];
    addend_.decode(thread, i, addend);
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < chunk_size; ++k) function_(x[k], addend[k]);
    x_.encode(thread, x, first_ + column, count);
    with_width(width, [&](auto w) { x_.template store<w>(thread, column, count); });
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < chunk_size; ++k) x[k] = x_.written(k);
  }

 private:
  Function const& function_;
  row_accessor<X, Hardware, 1> x_;
  row_accessor<Addend, Hardware, Chunks> addend_;
  std::uint64_t first_;
};

/// The number of an operation's scores that all rows share, the last ones. They stay in a cache.
template <class Operation>
inline constexpr int shared_scores = 0;
template <class Operation>
  requires requires { Operation::shared_scores; }
inline constexpr int shared_scores<Operation> = Operation::shared_scores;
/// The number of scores whose rows a team keeps.
template <class Operation, class Scores>
inline constexpr int kept_scores = Scores::size - shared_scores<Operation>;
template <class Operation, class Scores, class Sum>
inline constexpr int chunks_at_once = tuning::row_chunks(
    static_cast<int>(Scores::template bytes_of<kept_scores<Operation, Scores>>) + Sum::bytes_read);
/// True if a team always keeps scores as they were loaded: results need these, or values are cheap.
/// Other rows are kept so where floats would not fit.
template <class Operation, class Sum>
inline constexpr bool keeps_codes =
    Sum::operands == 0 &&
    (detail::uses_scores<Operation> || requires { requires Operation::keeps_scores; });
/// The bytes of shared memory for a column of a row, with its sums.
template <class Operation, class Scores, class Sum>
LOWP_FN constexpr unsigned kept_bytes(bool as_floats) {
  return as_floats ? Scores::size * unsigned{sizeof(float)}
                   : Scores::template bytes_of<kept_scores<Operation, Scores>> +
                         Sum::sums * unsigned{sizeof(float)};
}

/// Sums over rows, which a kernel over rows leaves in lines.
template <int Sums>
struct line_sums : no_row_sum {
  static constexpr int sums = Sums;

  simd::sum_lines lines;
};

/// The sums of teams, one behind another. A team's threads add to its sums.
template <int Sums, class Team, class Thread>
struct team_sums {
  Thread const& thread;
  Team team;  // no reference: an object that refers to itself would not stay in registers
  simd::sum_lines const& lines;
  float* sums_of_first;  ///< the block's first team
  unsigned between;      ///< floats from a team's sums to those of the next one
  unsigned room;

  /// Calls add(row, is_row) for rows whose sums the block's teams leave, a group of each team at a
  /// time. The call stands once, so that it is inlined.
  LOWP_FN void run(auto const& add) const {
    unsigned const teams = team.count();
    std::uint64_t const all = (lines.all_rows + groups - 1) / groups, blocks = thread.blocks();
    bool const has_groups = lines.has_groups();
    unsigned const of_place = has_groups ? teams : groups;
    for (std::uint64_t place = thread.block(); place < lines.count();
         place += has_groups ? blocks * teams : blocks)
      for (unsigned turn = 0; turn < of_place; turn += teams) {
        std::uint64_t const first = has_groups ? place : place * groups + turn;
        std::uint64_t const g = first + team.number() * (has_groups ? blocks : 1);
        std::uint64_t const end =
            has_groups || (place + 1) * groups > all ? all : (place + 1) * groups;
        if (team.any(g < end)) add_group(g, g < end, add);
        thread.barrier();
        if (!has_groups)
          add_to_run(place, turn == 0, first, first + teams < end ? first + teams : end);
        else if (g < end)
          write_group(g);
        thread.barrier();
      }
  }
  /// Adds `Count` elements of a chunk. Number k, the first, is that of column e.
  template <int Count, class Operation, class State, class Chunk>
  LOWP_FN void add(Operation const& operation, State const& s, Chunk const& x, int k,
                   unsigned e) const {
    add_each<Count>(std::make_integer_sequence<int, Sums>{}, operation, s, x, k, e);
  }

 private:
  static constexpr unsigned groups = simd::column_group;  ///< of a run

  LOWP_FN void write_group(std::uint64_t g) const {
    float* const to = lines.group_of(g * simd::column_group);
    for (unsigned e = team.thread(); e < lines.width; e += team.threads())
      to[e] = sum_at(team.number(), e);
  }
  LOWP_FN void add_to_run(std::uint64_t run, bool is_first, std::uint64_t group,
                          std::uint64_t end) const {
    double* const to = lines.run_of(run * simd::column_run);
    for (unsigned e = thread.thread(); e < lines.width; e += thread.threads()) {
      double sum = is_first ? 0 : to[e];
      for (unsigned t = 0; group + t < end; ++t) sum = lanes::add(sum, lanes::widen(sum_at(t, e)));
      to[e] = sum;
    }
  }
  LOWP_FN float* sums_of(unsigned n) const { return sums_of_first + n * between; }
  /// Returns a sum by its number in a line.
  LOWP_FN float sum_at(unsigned n, unsigned e) const {
    unsigned const of_sum = static_cast<unsigned>(lines.room);
    return sums_of(n)[e / of_sum * room + kept_place<4>(e % of_sum)];
  }
  LOWP_FN void add_group(std::uint64_t g, bool has_rows, auto const& add) const {
    for (unsigned e = team.first_of_chunk(); e < lines.room; e += Team::stride)
      for (unsigned k = 0; k < Sums; ++k)
        for (unsigned half = 0; half < chunk_size; half += 4) *at<4>(e + half, k) = {};
    std::uint64_t const first = g * simd::column_group;
    for (std::uint64_t r = first; r < first + simd::column_group; ++r)
      add(r, has_rows && r < lines.all_rows);
  }
  template <int Count>
  LOWP_FN floats<Count>* at(unsigned e, unsigned k) const {
    return reinterpret_cast<floats<Count>*>(sums_of(team.number()) + k * room + kept_place<4>(e));
  }
  template <int Count, int... K, class Operation, class State, class Chunk>
  LOWP_FN void add_each(std::integer_sequence<int, K...>, Operation const& operation,
                        State const& s, Chunk const& x, int k, unsigned e) const {
    (add_one<Count>(fold::number<K>{}, operation, s, x, k, e,
                    std::make_index_sequence<std::extent_v<Chunk>>{}),
     ...);
  }
  template <int Count, int K, class Operation, class State, class Chunk, std::size_t... J>
  LOWP_FN void add_one(fold::number<K> number, Operation const& operation, State const& s,
                       Chunk const& x, int k, unsigned e, std::index_sequence<J...>) const {
    floats<Count> sum = *at<Count>(e, K);
    LOWP_UNROLL_ON_GPU
    for (int i = 0; i < Count; ++i) operation.add_to(number, sum.x[i], s, x[J][k + i]...);
    *at<Count>(e, K) = sum;
  }
};

}  // namespace lowp::cuda
