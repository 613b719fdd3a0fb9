// SPDX-License-Identifier: Apache-2.0
// The rows of an argument: where they lie in memory, and checks of their sizes and overlap.
#pragma once

#include <lowp/ops/arguments.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

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
template <class T>
inline constexpr bool is_strided<strided_rows<T>> = element<std::remove_const_t<T>>;

/// Returns rows that do or do not have a stride of their own as rows with one.
template <class R>
LOWP_HOST_FN auto as_rows(R& range, std::size_t stride) {
  if constexpr (is_strided<std::remove_const_t<R>>)
    return range;
  else
    return strided_rows{range, stride};
}

/// The part of an argument: rows that are folded or written, or an element for each column or row.
/// A table has rows of its own.
enum class row_use { score, addend, result, column, column_sum, number, statistic, table, scratch };

/// An argument's range with its name in error texts; `size` counts the elements of rows.
struct row_extent : extent {
  row_use use;
  std::size_t columns, stride, given, rows = 0;

  template <class T>
  LOWP_HOST_FN row_extent(char const* range_name, strided_rows<T> const& range,
                          std::size_t row_size, row_use what = row_use::score)
      : extent(range_name, range.elements),
        use(what),
        columns(row_size),
        stride(range.stride),
        given(size) {
    is_written = use == row_use::result || use == row_use::statistic || use == row_use::column_sum;
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
    whole.bytes = whole.size * element_size;
    return whole;
  }
};

inline namespace LOWP_UNIT {

inline error_text check_rows(char const* function, row_extent const& range, row_extent const& in) {
  if (range.columns == 0) return joined_text({function, ": columns is 0"});
  bool const is_per_row = range.use == row_use::statistic || range.use == row_use::number;
  if (is_per_row || range.use == row_use::column || range.use == row_use::column_sum) {
    std::size_t const count = is_per_row ? in.rows : in.columns;
    if (range.given == count) return {};
    return joined_text({function, ": ", range.name, " has ", range.given, " elements for ", count,
                        is_per_row ? " rows" : " columns"});
  }
  if (range.is_whole()) return {};
  error_text text = joined_text({function, ": ", range.name, " has ", range.given,
                                 " elements, which are not rows of ", range.columns});
  if (range.stride != range.columns)
    text = joined_text({text, " that begin ", range.stride, " apart"});
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
/// Returns true if one range may be the storage of the other.
inline bool are_same_rows(row_extent const& a, row_extent const& b) {
  return a.data == b.data && a.element_size == b.element_size &&
         (a.stride == b.stride || a.rows <= 1);
}

}  // namespace LOWP_UNIT

}  // namespace detail

}  // namespace lowp
