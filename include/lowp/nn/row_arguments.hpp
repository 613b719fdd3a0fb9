// SPDX-License-Identifier: Apache-2.0
// The arguments of a call over rows: their names, rows and operands, and checks of sizes, overlap
// and labels.
#pragma once

#include <lowp/ops/arguments.hpp>
#include <lowp/ops/number.hpp>
#include <lowp/simd/executors.hpp>
#include <lowp/simd/rows/sum_lines.hpp>

namespace lowp {

/// Rows that begin `stride` elements apart: BLAS's leading dimension, or rows of a wider matrix. An
/// operation neither reads nor writes the elements between them.
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

/// A range, or strided_rows, whose elements get sums with derivatives in place of these. Each is
/// rounded once. The next part of a batch adds its derivatives with added_to{dweight} in place of
/// dweight. With added_to{dx}, dx has the gradient that reaches x on another way.
template <class Range>
struct added_to {
  Range range;
};
template <detail::lasting_array R>
added_to(R&&) -> added_to<std::span<std::remove_reference_t<std::ranges::range_reference_t<R>>>>;
template <class T>
added_to(strided_rows<T>) -> added_to<strided_rows<T>>;

/// Labels: contiguous elements, std::int64_t as PyTorch has them or std::int32_t.
template <class R>
concept label_range =
    detail::array_range<R> && (std::same_as<std::ranges::range_value_t<R>, std::int64_t> ||
                               std::same_as<std::ranges::range_value_t<R>, std::int32_t>);

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

struct row_extent;
inline namespace LOWP_SHARED {
void find_rows(row_extent& range);
}

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
    find_rows(*this);
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

inline namespace LOWP_SHARED {

/// The ranges of a call, `in` first.
using row_extents = std::span<row_extent const* const>;
/// Checks that they have rows.
void check_rows(call_check& check, row_extents all);
/// Checks that they are equally long and lie apart.
void check_row_overlap(call_check& check, row_extents all);
/// Returns the error text of a label.
error_text label_text(char const* function, char const* what, std::int64_t label, std::size_t row,
                      std::size_t count, std::int64_t ignored);

#if defined(LOWP_BODIES)

LOWP_NOINLINE LOWP_LIB void find_rows(row_extent& range) {
  if (!range.is_whole()) return;
  range.rows = range.given / range.stride + (range.given % range.stride != 0);
  range.size = range.rows * range.columns;
}

inline error_text rows_text(char const* function, row_extent const& range, row_extent const& in) {
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

LOWP_NOINLINE LOWP_LIB void check_rows(call_check& check, row_extents all) {
  for (row_extent const* each : all) check.add(rows_text(check.function(), *each, *all[0]));
}
LOWP_NOINLINE LOWP_LIB void check_row_overlap(call_check& check, row_extents all) {
  for (row_extent const* b : all) {
    extent const both[] = {*all[0], *b};
    if (b->may_coincide || b->use == row_use::result) check.equal_sizes(both, 2);
    for (row_extent const* a : all) {
      if (a == b) break;
      if ((a->is_written || b->is_written) && !are_side_by_side(*a, *b) &&
          !(a->may_coincide && b->use == row_use::result && are_same_rows(*a, *b)))
        check.no_overlap(a->all(), b->all());
    }
  }
}
LOWP_COLD LOWP_LIB error_text label_text(char const* function, char const* what, std::int64_t label,
                                         std::size_t row, std::size_t count, std::int64_t ignored) {
  return joined_text({function, ": the ", what, " of row ", row, " is ", shortest_text(label).text,
                      ", not from 0 to ", shortest_text(static_cast<std::int64_t>(count) - 1).text,
                      " or ignore_index, ", shortest_text(ignored).text});
}

#endif

}  // namespace LOWP_SHARED

inline namespace LOWP_UNIT {

/// Returns the error text of labels that the host can read, of which one is neither below `count`
/// nor ignored.
template <bool AreOnDevice, class Label>
error_text check_labels(char const* function, char const* what, Label const* labels,
                        std::size_t rows, std::size_t count, std::int64_t ignored) {
  if constexpr (!AreOnDevice)
    for (std::size_t row = 0; row < rows; ++row)
      if (labels[row] != ignored && static_cast<std::uint64_t>(labels[row]) >= count)
        return label_text(function, what, labels[row], row, count, ignored);
  return {};
}

}  // namespace LOWP_UNIT

template <class T>
using not_a_range_of_int64_or_int32 = fit<label_range<T>>;

template <row_use Use, class Operand>
struct row_role {
  static constexpr row_use use = Use;

  row_extent range;
  Operand operand;
};

template <row_use Use, simd::access A, class R>
LOWP_HOST_FN auto row_argument(char const* name, R& range, std::size_t columns) {
  auto const rows = as_rows(range, columns);
  using T = explicit_of<typename decltype(rows.elements)::value_type>;
  using operand = simd::row_operand<simd::operand<T, A>>;
  row_role<Use, operand> role{
      {name, rows, columns, Use},
      {{explicit_data(rows.elements.data())}, Use == row_use::column ? 0 : rows.stride}};
  role.range.is_written = A != simd::access::read;
  return role;
}
LOWP_HOST_FN auto read_rows(char const* name, auto& range, std::size_t columns) {
  auto role = row_argument<row_use::score, simd::access::read>(name, range, columns);
  role.range.may_coincide = true;
  return role;
}
template <row_use Use = row_use::result>
LOWP_HOST_FN auto write_rows(char const* name, auto& range, std::size_t columns) {
  if constexpr (requires { range.range; })
    return row_argument<Use, simd::access::read_write>(name, range.range, columns);
  else
    return row_argument<Use, simd::access::write>(name, range, columns);
}
LOWP_HOST_FN auto in_every_row(char const* name, auto& range, std::size_t columns) {
  return row_argument<row_use::column, simd::access::read>(name, range, columns);
}
/// Returns an argument of one element for each column, which folds may read.
LOWP_HOST_FN auto in_every_fold(char const* name, auto& range, std::size_t columns) {
  auto const role = in_every_row(name, range, columns);
  return row_role<row_use::score, decltype(role.operand)>{role.range, role.operand};
}
/// Returns an argument that gets a sum over all rows for each column.
LOWP_HOST_FN auto for_each_column(char const* name, auto& range) {
  return write_rows<row_use::column_sum>(name, range, 1);
}
/// Returns an argument of one T for each row. The operation itself reads it: see `start`.
template <class T, class R>
LOWP_HOST_FN auto read_for_each_row(char const* name, R& range) {
  std::span<T const> const all(range);
  return row_role<row_use::number, T const*>{
      {name, strided_rows<T const>{all, 1}, 1, row_use::number}, all.data()};
}
LOWP_HOST_FN auto for_each_row(char const* name, auto& range) {
  return write_rows<row_use::statistic>(name, range, 1);
}

template <class Executor>
inline constexpr bool has_own_memory = requires { Executor::has_own_memory; };

/// Scratch of a GPU for sums over rows.
template <class T>
concept row_scratch = std::convertible_to<T, std::span<double>>;
template <class Executor, class... Scratch>
concept takes_scratch = sizeof...(Scratch) <= (has_own_memory<Executor> ? 1 : 0);
template <class T>
using not_a_range_of_doubles = fit<row_scratch<T>>;
template <class Executor, class... Needs>
using call_with_scratch =
    call<Needs...,
         may_have<has_own_memory<Executor> ? 1 : 0, names::scratch, not_a_range_of_doubles>>;

LOWP_HOST_FN constexpr std::size_t doubles_of_sums(std::size_t rows, std::size_t columns,
                                                   std::size_t sums) {
  return (simd::sum_lines::of(rows, columns, sums, simd::sum_lines::least_rows).bytes() + 7) / 8;
}
template <std::size_t Sums>
struct scratch_role : row_role<row_use::scratch, double*> {
  [[nodiscard]] LOWP_HOST_FN error_text check(char const* function, row_extent const& in) const {
    std::size_t const least = doubles_of_sums(in.rows, in.columns, Sums);
    if (range.given >= least) return {};
    return joined_text({function, ": scratch has ", range.given, " doubles, not ", least});
  }
};
/// Returns an argument for the sums that a call leaves before they are added up.
template <std::size_t Sums>
LOWP_HOST_FN auto sums_in(std::span<double> scratch) {
  scratch_role<Sums> role{
      {{"scratch", strided_rows{scratch, 1}, 1, row_use::scratch}, scratch.data()}};
  role.range.is_written = true;
  return role;
}

}  // namespace detail

}  // namespace lowp
