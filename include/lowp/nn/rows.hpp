// SPDX-License-Identifier: Apache-2.0
// Checks and calls that operations over the rows of a matrix share.
#pragma once

#include <lowp/lanes/row_folds.hpp>
#include <lowp/ops/arguments.hpp>
#include <lowp/simd/executors.hpp>

#include <cstddef>
#include <string>
#include <tuple>

namespace lowp::detail {

inline namespace LOWP_UNIT {

/// Returns the error text of a range that is not rows of `columns` elements.
inline error_text not_rows(char const* function, extent const& range, std::size_t columns) {
  if (columns == 0) return std::string(function) + ": columns is 0";
  if (range.size % columns == 0) return {};
  return std::string(function) + ": " + name_of(range) + " has " + std::to_string(range.size) +
         " elements, which are not rows of " + std::to_string(columns);
}

}  // namespace LOWP_UNIT

/// Runs a row operation on `executor`. Its arguments have been checked.
template <class Executor, class Operation, class T, class Scores, class Columns = std::tuple<>>
LOWP_HOST_FN void run_rows(Executor const& executor, Operation const& operation, T* out,
                           std::size_t size, std::size_t columns, Scores const& scores,
                           Columns const& per_column = {}) {
  using to = simd::operand<T, simd::access::write>;
  if (size == 0) return;
  executor.rows(simd::row_call<Operation, to, Scores, Columns>{
      operation, 0, size / columns, columns, to{out}, scores, per_column});
}

}  // namespace lowp::detail
