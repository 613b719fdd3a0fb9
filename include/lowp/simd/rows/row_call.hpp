// SPDX-License-Identifier: Apache-2.0
// What a caller hands to the loop over rows, simd/rows.hpp or cuda/rows.hpp.
#pragma once

#include <lowp/simd/operand.hpp>

#include <cstddef>
#include <tuple>

namespace lowp::simd {

/// Every `period` rows serve `repeats` times before the next ones do: (batch, head, query) rows of scores
/// have (batch, query) rows of a mask with period = queries and repeats = heads. With neither, every row
/// has its own.
struct row_repetition {
  std::size_t period = 0, repeats = 0;

  /// Which one serves row r.
  LOWP_FN std::size_t row(std::size_t r) const {
    return repeats == 0 ? r : r / (period * repeats) * period + r % period;
  }
};

/// An operand whose rows serve several.
template <class Operand>
struct repeated {
  Operand operand;
  row_repetition rows;
};

/// Bytes as words, of which an operation asks whether they are zero.
struct byte_operand {
  unsigned char const* data;
};

template <class Isa, class Call>
class row_loop;

/// Rows first_row to first_row + rows of a matrix with so many columns: out = what `operation` makes of
/// the scores and of what each column has, which is the same in every row.
template <class Operation, class Out, class Scores, class Columns>
struct row_call {
  Operation operation;
  std::size_t first_row, rows, columns;
  Out out;
  Scores scores;
  Columns per_column;

  LOWP_HOST_FN row_call subrange(std::size_t first, std::size_t count) const {
    row_call some = *this;
    some.first_row += first;
    some.rows = count;
    return some;
  }

  template <class Isa>
  LOWP_HOST_FN void run() const {
    row_loop<Isa, row_call>(*this).run();
  }
};

}  // namespace lowp::simd
