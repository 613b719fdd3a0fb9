// SPDX-License-Identifier: Apache-2.0
// A call over rows whose first scores are sums: x = round(function of x and addend) comes before
// the folds. A GPU's kernel adds what it loads for them: see cuda/rows/row_sum.hpp.
#pragma once

#include <lowp/simd/element_call.hpp>
#include <lowp/simd/rows/row_call.hpp>

namespace lowp::simd {

/// A row_call behind its sums. The processor runs the loop over elements and the loop over rows in
/// turns, block by block. A block's rows are still in a cache when the second one reads them.
template <class RowCall, class Make, class X, class Addend>
struct summed_row_call : RowCall {
  using RowCall::columns, RowCall::first_row, RowCall::rows;
  /// The elements of a block, unless a row has more. They fit the smallest second-level caches, and
  /// take far longer than the change from loop to loop.
  static constexpr std::size_t block = 1 << 14;

  Make make_function;
  row_operand<X> x;
  row_operand<Addend> addend;

  LOWP_HOST_FN void run_parts(auto const& executor) const {
    std::size_t const end = first_row + rows;
    bool const is_whole = x.stride == columns && addend.stride == columns;
    std::size_t const most = block > columns ? block / columns : 1;
    for (std::size_t row = first_row, count; row < end; row += count) {
      count = end - row < most ? end - row : most;
      std::size_t const at_once = is_whole ? count : 1;
      for (std::size_t i = row; i < row + count; i += at_once)
        executor(element_call(make_function, loop_size(at_once * columns),
                              static_cast<no_report*>(nullptr), from_row(x, i),
                              from_row(addend, i)));
      RowCall part = *this;
      part.first_row = row;
      part.rows = count;
      executor(part);
    }
  }

 private:
  /// Returns an operand that begins with a row. Its random bits are those of the row's place.
  template <class Operand>
  LOWP_HOST_FN Operand from_row(row_operand<Operand> const& all, std::size_t row) const {
    Operand rest = all.operand.after(row * columns);
    rest.data += row * (all.stride - columns);
    return rest;
  }
};

}  // namespace lowp::simd
