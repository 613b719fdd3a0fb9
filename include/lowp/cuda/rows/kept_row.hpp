// SPDX-License-Identifier: Apache-2.0
// A team's row in shared memory in its own types, and its sums over rows behind it.
#pragma once

#include <lowp/cuda/rows/row_sum.hpp>
#include <lowp/cuda/rows/row_team.hpp>
#include <lowp/simd/rows/sum_lines.hpp>

namespace lowp::cuda {

/// The number of an operation's scores that all rows share, the last ones. They stay in a cache.
template <class Operation>
inline constexpr int shared_scores = 0;
template <class Operation>
  requires requires { Operation::shared_scores; }
inline constexpr int shared_scores<Operation> = Operation::shared_scores;

/// A row's codes of the first Count scores.
template <class Team, class Scores, int Count>
class kept_row {
 public:
  static constexpr unsigned bytes = Scores::template bytes_of<Count>;  ///< of a column

  template <class Thread>
  LOWP_FN kept_row(Thread const& thread, unsigned char* row, unsigned room)
      : row_(thread.register_address(row)), room_(room) {}

  /// Keeps chunk i, whose first element is e.
  LOWP_FN void keep(int i, auto& from, unsigned e) const {
    from.template keep<Count>(i, row_, room_, e);
  }
  LOWP_FN void recall(auto& from, unsigned e) const { from.template recall<Count>(row_, room_, e); }
  LOWP_FN void load_element(auto const& from, unsigned e, int k, auto& x) const {
    from.template kept_element<Count>(row_, room_, e, k, x);
  }

 private:
  unsigned char* row_;
  unsigned room_;
};

/// Sums over rows, which a kernel over rows leaves in lines.
template <int Sums>
struct line_sums : no_row_sum {
  static constexpr int sums = Sums;

  simd::sum_lines lines;
};

/// The sums of teams, one behind another. Only the thread that has a chunk adds to its sums.
template <int Sums, class Team, class Thread>
class team_sums {
 public:
  /// @param first    sums of the block's first team
  /// @param between  floats from a team's sums to those of the next one
  LOWP_FN team_sums(Thread const& thread, Team const& team, simd::sum_lines const& lines,
                    float* first, unsigned between, unsigned room)
      : thread_(thread),
        team_(team),
        lines_(lines),
        first_(first),
        between_(between),
        room_(room) {}

  /// Calls add(row) for rows whose sums the block's teams leave, a group of each team at a time.
  /// The call stands once, so that it is inlined.
  template <class Add>
  LOWP_FN void run(Add const& add) const {
    unsigned const teams = thread_.threads() / Team::threads;
    std::uint64_t const all = (lines_.all_rows + groups - 1) / groups, blocks = thread_.blocks();
    bool const has_groups = lines_.has_groups();
    unsigned const of_place = has_groups ? teams : groups;
    for (std::uint64_t place = thread_.block(); place < lines_.count();
         place += has_groups ? blocks * teams : blocks)
      for (unsigned turn = 0; turn < of_place; turn += teams) {
        std::uint64_t const first = has_groups ? place : place * groups + turn;
        std::uint64_t const g = first + team_.number() * (has_groups ? blocks : 1);
        std::uint64_t const end =
            has_groups || (place + 1) * groups > all ? all : (place + 1) * groups;
        if (g < end) add_group(g, add);
        thread_.barrier();
        if (!has_groups)
          add_to_run(place, turn == 0, first, first + teams < end ? first + teams : end);
        else if (g < end)
          write_group(g);
        thread_.barrier();
      }
  }
  /// Adds a row's chunk from column e on to its sums.
  template <class Operation, class State, class Chunk>
  LOWP_FN void add(Operation const& operation, State const& s, Chunk const& x, unsigned e) const {
    add_each(std::make_integer_sequence<int, Sums>{}, operation, s, x, e);
  }

 private:
  static constexpr unsigned groups = simd::column_group;  ///< of a run

  LOWP_FN void write_group(std::uint64_t g) const {
    float* const to = lines_.group_of(g * simd::column_group);
    for (unsigned e = team_.thread(); e < lines_.width; e += Team::threads)
      to[e] = sum_at(team_.number(), e);
  }
  LOWP_FN void add_to_run(std::uint64_t run, bool is_first, std::uint64_t group,
                          std::uint64_t end) const {
    double* const to = lines_.run_of(run * simd::column_run);
    for (unsigned e = thread_.thread(); e < lines_.width; e += thread_.threads()) {
      double sum = is_first ? 0 : to[e];
      for (unsigned t = 0; group + t < end; ++t) sum = lanes::add(sum, lanes::widen(sum_at(t, e)));
      to[e] = sum;
    }
  }
  LOWP_FN float* sums_of(unsigned team) const { return first_ + team * between_; }
  /// Returns a sum by its number in a line.
  LOWP_FN float sum_at(unsigned team, unsigned e) const {
    unsigned const of_sum = static_cast<unsigned>(lines_.room);
    return sums_of(team)[e / of_sum * room_ + kept_place<4>(e % of_sum)];
  }
  template <class Add>
  LOWP_FN void add_group(std::uint64_t g, Add const& add) const {
    for (unsigned e = team_.first_of_chunk(); e < lines_.room; e += Team::stride)
      for (unsigned k = 0; k < Sums; ++k)
        for (unsigned half = 0; half < chunk_size; half += 4) *four_at(e + half, k) = {};
    std::uint64_t const first = g * simd::column_group;
    for (std::uint64_t r = first; r < first + simd::column_group && r < lines_.all_rows; ++r)
      add(r);
  }
  LOWP_FN four_floats* four_at(unsigned e, unsigned k) const {
    return reinterpret_cast<four_floats*>(sums_of(team_.number()) + k * room_ + kept_place<4>(e));
  }
  template <int... K, class Operation, class State, class Chunk>
  LOWP_FN void add_each(std::integer_sequence<int, K...>, Operation const& operation,
                        State const& s, Chunk const& x, unsigned e) const {
    (add_one(fold::number<K>{}, operation, s, x, e,
             std::make_index_sequence<std::extent_v<Chunk>>{}),
     ...);
  }
  template <int K, class Operation, class State, class Chunk, std::size_t... J>
  LOWP_FN void add_one(fold::number<K> number, Operation const& operation, State const& s,
                       Chunk const& x, unsigned e, std::index_sequence<J...>) const {
    LOWP_UNROLL_ON_GPU
    for (unsigned half = 0; half < chunk_size; half += 4) {
      four_floats* const at = four_at(e + half, K);
      four_floats sum = *at;
      LOWP_UNROLL_ON_GPU
      for (unsigned i = 0; i < 4; ++i) operation.add_to(number, sum.x[i], s, x[J][half + i]...);
      *at = sum;
    }
  }

  Thread const& thread_;
  Team team_;  // no reference: an object that refers to itself would not stay in registers
  simd::sum_lines const& lines_;
  float* first_;
  unsigned between_, room_;
};

}  // namespace lowp::cuda
