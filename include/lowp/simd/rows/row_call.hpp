// SPDX-License-Identifier: Apache-2.0
// The arguments of the loop over rows, in simd/rows and in cuda/rows. An operation is a class in
// the vocabulary of lanes.hpp:
//
//     folds                          std::tuple of fold::maximum, fold::sum, and fold::both of
//                                    two; each entry reads the row once
//     state<F>                       the results of the folds so far, the same in every lane
//     value(fold::number<K>, state, scores...)    the value of an element in fold K
//     term(fold::number<K>, value)                the part of the value that is folded
//     kept(value, term)              optional: what the last fold keeps for `result` in place of
//                                    the value
//     take_total(fold::number<K>, state, total)   takes the result of fold K; returns true, if
//                                                 anything, to fold the row once more
//     result(state, value, columns...)            the result, from the value of the last fold and
//                                                 from the operands of each column
//     visible(row, columns)          optional: how many columns of a row are folded; the values of
//                                    the others are zero
//     statistic(fold::number<K>, state)           statistic number K of a row, if the call has it
//     start(state, row)              optional: takes what the operation has for a row
//     keeps_scores                   optional, true: values are cheap, so a GPU keeps the scores as
//                                    they were loaded
//     uses_scores                    optional, true: result(state, scores..., columns...) is the
//                                    result, from the scores instead of the value
//     marked_result(state, value)    optional: the result in column state.marked
//     plain_state<F>, is_plain(state), plain(state)    optional: a simpler state of most rows that
//                                    gives the same results; values are cheap to compute again; a
//                                    row begins plain, and all its columns are visible
#pragma once

#include <lowp/simd/operand.hpp>

namespace lowp::simd {

/// A repetition of rows. Every `period` rows serve `repeats` times before the next ones do.
/// Example: scores have (batch, head, query) rows and a mask (batch, query) rows. Then period =
/// queries and repeats = heads. If both are 0, every row has its own.
struct row_repetition {
  std::size_t period = 0, repeats = 0;

  /// Returns the number of the row that serves row r.
  LOWP_FN std::size_t row(std::size_t r) const {
    return repeats == 0 ? r : r / (period * repeats) * period + r % period;
  }
};

struct own_rows {
  LOWP_FN static std::size_t row(std::size_t r) { return r; }
  LOWP_HOST_FN operator row_repetition() const { return {}; }
};

/// An operand whose rows begin `stride` elements apart; one of stride 0 serves every row.
template <class Operand, class Rows = own_rows>
struct row_operand {
  using operand_type = Operand;

  Operand operand;
  std::size_t stride;
  [[no_unique_address]] Rows rows{};
};

/// Bytes as words; an operation tests whether they are zero.
struct byte_operand {
  unsigned char const* data;
};

/// A count of labels other than `ignored`, for an executor with its own memory: one label for each
/// row. Every row's `counts` gets the number. `seen` counted all rows, or is null.
template <class Label>
struct label_call {
  Label const* labels;
  std::size_t rows;
  std::int64_t ignored;
  float* counts;
  std::uint64_t* seen;
};

template <class Isa, class Call>
class row_loop;

LOWP_LAYERS_BEGIN

/// A call for rows first_row to first_row + rows of a matrix with `columns` columns. `operation`
/// computes `out` from the scores and from per_column, which is the same in every row. It also
/// computes the statistics, one float for each row. Each of them is a row_operand.
template <class Operation, class Out, class Scores, class Columns = tuple<>,
          class Statistics = tuple<>>
struct row_call {
  Operation operation;
  std::size_t first_row, rows, columns;
  Out out;
  Scores scores;
  Columns per_column{};
  Statistics statistics{};
  std::size_t all_rows = rows;  ///< of the matrix, if a thread has some of them

  template <class Isa>
  LOWP_HOST_FN void body() const {
    row_loop<Isa, row_call>(*this).over_rows();
  }
};

LOWP_EXACT_END

}  // namespace lowp::simd
