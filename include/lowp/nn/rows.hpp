// SPDX-License-Identifier: Apache-2.0
// The rows of a matrix: what a caller gives, and the checks and calls that operations share.
#pragma once

#include <lowp/lanes/row_folds.hpp>
#include <lowp/ops/arguments.hpp>
#include <lowp/simd/executors.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>

namespace lowp {

/// Rows that begin `stride` elements apart: BLAS's leading dimension, or rows of a wider matrix.
/// An operation neither reads nor writes the elements between them.
///
///     softmax(strided_rows{logits, 50304}, strided_rows{p, 50304}, 50257);
///
/// A range alone has the stride `columns`. The last row may end the range.
template <class T>
struct strided_rows {
  std::span<T> elements;
  std::size_t stride;
};
template <std::ranges::contiguous_range R>
strided_rows(R&&, std::size_t)
    -> strided_rows<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

namespace detail {

template <class T>
inline constexpr bool is_strided = false;
template <element T>
inline constexpr bool is_strided<strided_rows<T>> = true;
template <element T>
inline constexpr bool is_strided<strided_rows<T const>> = true;

template <class R>
inline constexpr bool is_writable_rows = false;
template <element T>
inline constexpr bool is_writable_rows<strided_rows<T>> = true;

/// Returns rows that do or do not have a stride of their own as rows with one.
template <class R>
LOWP_HOST_FN auto as_rows(R& range, std::size_t stride) {
  if constexpr (is_strided<std::remove_const_t<R>>)
    return range;
  else
    return strided_rows<std::remove_pointer_t<decltype(std::ranges::data(range))>>{range, stride};
}

/// Rows with their name in error texts; `size` counts the elements of rows.
struct row_extent : extent {
  std::size_t columns, stride, given, rows = 0;

  template <class T>
  LOWP_HOST_FN row_extent(char const* range_name, strided_rows<T> const& range,
                          std::size_t row_size)
      : extent(range_name, range.elements), columns(row_size), stride(range.stride), given(size) {
    if (!is_whole()) return;
    rows = given / stride + (given % stride != 0);
    size = rows * columns;
  }
  /// Returns true if the range has rows, of which only the last may end early.
  LOWP_HOST_FN bool is_whole() const {
    return columns != 0 && stride >= columns && (given % stride == 0 || given % stride >= columns);
  }
  /// Returns the range from the first element of a row to the last.
  LOWP_HOST_FN extent all() const {
    extent whole = *this;
    if (rows != 0) whole.size = (rows - 1) * stride + columns;
    return whole;
  }
};

inline namespace LOWP_UNIT {

/// Returns the error text of a range that is not rows of `columns` elements.
inline error_text not_rows(char const* function, row_extent const& range) {
  if (range.columns == 0) return std::string(function) + ": columns is 0";
  if (range.is_whole()) return {};
  std::string text = std::string(function) + ": " + name_of(range) + " has " +
                     std::to_string(range.given) + " elements, which are not rows of " +
                     std::to_string(range.columns);
  if (range.stride != range.columns)
    text += " that begin " + std::to_string(range.stride) + " apart";
  return text;
}

/// Returns true if the rows of two ranges lie side by side in those of one matrix.
inline bool are_side_by_side(row_extent const& a, row_extent const& b) {
  std::size_t const period = a.stride * a.element_size;
  bool const has_period = a.rows > 1 || b.rows > 1;  // else strides may be anything
  if (!has_period || period != b.stride * b.element_size) return false;
  auto const from = reinterpret_cast<std::uintptr_t>(a.data) % period;
  auto const to = reinterpret_cast<std::uintptr_t>(b.data) % period;
  std::size_t const distance = (to + period - from) % period;
  return distance >= a.columns * a.element_size && distance + b.columns * b.element_size <= period;
}
/// Refuses rows that share elements, unless both ranges are the same rows.
inline void same_rows_or_apart(call_check& check, row_extent const& a, row_extent const& b) {
  bool const are_same =
      a.data == b.data && a.element_size == b.element_size && (a.stride == b.stride || a.rows <= 1);
  if (!check.failed() && !are_same && !are_side_by_side(a, b)) check.no_overlap(a.all(), b.all());
}
/// Checks an operation that computes each row of `to` from one of `from`.
template <class Executor>
void check_row_by_row(call_check& check, Executor const& executor, row_extent const& from,
                      row_extent const& to) {
  check.add(not_rows(check.function(), from));
  check.add(not_rows(check.function(), to));
  check.equal_sizes({from, to});
  same_rows_or_apart(check, from, to);
  check.reachable(executor, {from, to});
}

}  // namespace LOWP_UNIT

/// Returns an operand with rows of a given stride; with stride 0, it serves every row.
template <simd::access A, class T>
LOWP_HOST_FN auto row_operand_of(strided_rows<T> const& rows) {
  return simd::row_operand<simd::operand<std::remove_const_t<T>, A>>{{rows.elements.data()},
                                                                     rows.stride};
}

/// Runs a row operation on `executor`. Its arguments have been checked.
template <class Executor, class Operation, class T, class Scores, class Columns = std::tuple<>,
          class Statistics = std::tuple<>>
LOWP_HOST_FN void run_rows(Executor const& executor, Operation const& operation,
                           strided_rows<T> const& out, row_extent const& rows, Scores const& scores,
                           Columns const& per_column = {}, Statistics const& statistics = {}) {
  auto const to = row_operand_of<simd::access::write>(out);
  if (rows.rows == 0) return;
  executor.rows(
      simd::row_call<Operation, std::remove_const_t<decltype(to)>, Scores, Columns, Statistics>{
          operation, 0, rows.rows, rows.columns, to, scores, per_column, statistics});
}

}  // namespace detail

/// Rows of a range that an operation reads: the range, or its strided_rows.
template <class R>
concept row_input = input<R> || detail::is_strided<std::remove_cvref_t<R>>;

/// Rows that an operation writes.
template <class R>
concept row_output = output<R> || detail::is_writable_rows<std::remove_cvref_t<R>>;

/// Floats that an operation writes, one for each row.
template <class R>
concept row_statistic = output<R> && std::same_as<element_of<R>, float>;

namespace detail {

template <class T>
using not_a_range_of_float_or_a_narrow_type_nor_strided_rows_such_as_std_span_x_data_x_size =
    fit<row_input<T>>;
template <class T>
using not_a_lasting_writable_range_nor_strided_rows_such_as_std_span_x_data_x_size =
    fit<row_output<T>>;
template <class T>
using not_a_writable_range_of_floats = fit<row_statistic<T>>;
template <class Name>
using needs_row_input =
    needs<Name,
          not_a_range_of_float_or_a_narrow_type_nor_strided_rows_such_as_std_span_x_data_x_size>;
template <class Name>
using needs_row_output =
    needs<Name, not_a_lasting_writable_range_nor_strided_rows_such_as_std_span_x_data_x_size>;

}  // namespace detail

}  // namespace lowp
