// SPDX-License-Identifier: Apache-2.0
// A call over the rows of a matrix as its arguments and what they have for a row:
//
//     run_rows(executor, "rms_norm", operation, read_rows("in", in, columns),
//              in_every_row("weight", weight, columns), write_rows("out", out, columns),
//              for_each_row("reciprocal_rms", reciprocal_rms));
//
// checks everything, `operation.check` too, before anything is written, and calls the executor.
#pragma once

#include <lowp/lanes/row_folds.hpp>
#include <lowp/nn/row_extent.hpp>
#include <lowp/ops/number.hpp>
#include <lowp/simd/executors.hpp>
#include <lowp/simd/rows/column_loop.hpp>
#include <lowp/simd/rows/row_sum.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>

namespace lowp {

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

namespace detail {

template <row_use Use, class Operand>
struct row_role {
  static constexpr row_use use = Use;

  row_extent range;
  Operand operand;

  LOWP_HOST_FN error_text check(char const*, row_extent const&) const { return {}; }
};

template <row_use Use, simd::access A, class R>
LOWP_HOST_FN auto row_argument(char const* name, R& range, std::size_t columns) {
  auto const rows = as_rows(range, columns);
  using T = explicit_of<typename decltype(rows.elements)::value_type>;
  using operand = simd::row_operand<simd::operand<T, A>>;
  return row_role<Use, operand>{
      {name, rows, columns, Use},
      {{explicit_data(rows.elements.data())}, Use == row_use::column ? 0 : rows.stride}};
}
LOWP_HOST_FN auto read_rows(char const* name, auto& range, std::size_t columns) {
  auto role = row_argument<row_use::score, simd::access::read>(name, range, columns);
  role.range.may_coincide = true;
  return role;
}
LOWP_HOST_FN auto write_rows(char const* name, auto& range, std::size_t columns) {
  if constexpr (requires { range.range; })
    return row_argument<row_use::result, simd::access::read_write>(name, range.range, columns);
  else
    return row_argument<row_use::result, simd::access::write>(name, range, columns);
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
template <class R>
LOWP_HOST_FN auto for_each_column(char const* name, R& range) {
  if constexpr (requires { range.range; })
    return row_argument<row_use::column_sum, simd::access::read_write>(name, range.range, 1);
  else
    return row_argument<row_use::column_sum, simd::access::write>(name, range, 1);
}
/// Returns an argument of one T for each row. The operation itself reads it: see `start`.
template <class T, class R>
LOWP_HOST_FN auto read_for_each_row(char const* name, R& range) {
  std::span<T const> const all(range);
  return row_role<row_use::number, T const*>{
      {name, strided_rows<T const>{all, 1}, 1, row_use::number}, all.data()};
}
LOWP_HOST_FN auto for_each_row(char const* name, auto& range) {
  return row_argument<row_use::statistic, simd::access::write>(name, range, 1);
}

inline namespace LOWP_UNIT {

/// Returns the error text of a call over rows, of which `in` is the first.
template <class Executor, class Operation, class In, class... Role>
error_text check_call_over_rows(Executor const& executor, char const* function,
                                Operation const& operation, In const& in, Role const&... role) {
  call_check check(function);
  row_extent const ranges[] = {in.range, role.range...};
  for (row_extent const& each : ranges) check.add(check_rows(function, each, in.range));
  if (check.failed()) return check.text();
  (check.add(role.check(function, in.range)), ...);
  if constexpr (requires { operation.check(function, in.range); })
    check.add(operation.check(function, in.range));
  if constexpr (requires { Executor::most_stride; })
    for (row_extent const& each : ranges)
      if (each.stride > Executor::most_stride)
        check.add(
            joined_text({function, ": ", each.name, " has rows that begin ", each.stride,
                         " elements apart: a GPU's kernels take at most ", Executor::most_stride}));
  for (row_extent const& b : ranges) {
    if (b.may_coincide || b.use == row_use::result) check.equal_sizes({in.range, b});
    for (row_extent const* a = ranges; a != &b; ++a)
      if ((a->is_written || b.is_written) && !are_side_by_side(*a, b) &&
          !(a->may_coincide && b.use == row_use::result && are_same_rows(*a, b)))
        check.no_overlap(a->all(), b.all());
  }
  check.reachable(executor, ranges);
  return check.text();
}

}  // namespace LOWP_UNIT

template <row_use Use, class Role>
LOWP_HOST_FN auto operand_if([[maybe_unused]] Role const& role) {
  if constexpr (Role::use == Use)
    return std::tuple(role.operand);
  else
    return std::tuple();
}
template <row_use Use, class... Role>
LOWP_HOST_FN auto operands_with(Role const&... role) {
  return std::tuple_cat(operand_if<Use>(role)...);
}

/// Runs the sums of a call, which come first: results may be written over the scores.
template <class Executor, class Operation, class In, class... Role>
LOWP_HOST_FN void sum_columns(Executor const& executor, Operation const& operation, In const& in,
                              Role const&... role) {
  auto scores = operands_with<row_use::score>(in, role...);
  auto sums = operands_with<row_use::column_sum>(role...);
  executor(simd::column_call<Operation, simd::one_group, decltype(scores), decltype(sums)>{
      operation, {in.range.rows}, in.range.rows, in.range.columns, scores, sums});
}

/// Runs a call over rows that was checked.
template <class Executor, class Operation, class In, class... Role>
LOWP_HOST_FN void run_checked_rows(Executor const& executor, Operation const& operation,
                                   In const& in, Role const&... role) {
  if constexpr (((Role::use == row_use::result) || ...)) {
    if (in.range.rows == 0) return;
    auto to = std::get<0>(operands_with<row_use::result>(role...));
    auto scores = operands_with<row_use::score>(in, role...);
    auto per_column = operands_with<row_use::column>(role...);
    auto statistics = operands_with<row_use::statistic>(role...);
    simd::row_call<Operation, decltype(to), decltype(scores), decltype(per_column),
                   decltype(statistics)> const call{
        operation, 0, in.range.rows, in.range.columns, to, scores, per_column, statistics};
    if constexpr (((Role::use == row_use::addend) || ...))
      executor(std::get<0>(operands_with<row_use::addend>(role...)).before(call));
    else
      executor(call);
  }
}

/// Checks a call over rows and runs it: the arguments in the order of the call, `in` first.
template <class Executor, class Operation, class In, class... Role>
LOWP_HOST_FN void run_rows(Executor const& executor, char const* function,
                           Operation const& operation, In const& in, Role const&... role) {
  error_text const wrong = check_call_over_rows(executor, function, operation, in, role...);
  if (!wrong.empty()) return executor.refuse_if(wrong);
  if constexpr (((Role::use == row_use::column_sum) || ...))
    sum_columns(executor, operation, in, role...);
  run_checked_rows(executor, operation, in, role...);
}

}  // namespace detail

/// Rows of a range that an operation reads: the range, or its strided_rows.
template <class R>
concept row_input = input<R> || detail::is_strided<std::remove_cvref_t<R>>;

template <class R>
concept row_output = output<R> || (detail::is_strided<std::remove_cvref_t<R>> &&
                                   requires(R& r) { r.elements[0] = r.elements[0]; });

/// A row_output, or `added_to` of one.
template <class R>
concept row_total =
    row_output<R> ||
    (std::same_as<std::remove_cvref_t<R>, added_to<decltype(std::remove_cvref_t<R>::range)>> &&
     row_output<decltype(std::remove_cvref_t<R>::range)&>);

/// Floats that an operation writes or reads, one for each row.
template <class R>
concept row_statistic = output<R> && std::same_as<element_of<R>, float>;
/// Floats that get a sum over all rows for each column, or `added_to` of them.
template <class R>
concept row_sums =
    row_statistic<R> || std::same_as<std::remove_cvref_t<R>, added_to<std::span<float>>>;
template <class R>
concept row_numbers = input<R> && std::same_as<element_of<R>, float>;

namespace detail {

template <class T>
using not_a_range_of_float_or_a_narrow_type_nor_strided_rows_such_as_std_span_x_data_x_size =
    fit<row_input<T>>;
template <class T>
using not_a_lasting_writable_range_nor_strided_rows_such_as_std_span_x_data_x_size =
    fit<row_output<T>>;
template <class T>
using not_a_writable_range_of_floats = fit<row_statistic<T>>;
template <class T>
using neither_a_lasting_writable_range_nor_strided_rows_nor_added_to = fit<row_total<T>>;
template <class Name>
using needs_total = needs<Name, neither_a_lasting_writable_range_nor_strided_rows_nor_added_to>;
template <class Name>
using needs_floats = needs<Name, not_a_writable_range_of_floats>;
template <class T>
using neither_a_writable_range_of_floats_nor_added_to = fit<row_sums<T>>;
template <class Name>
using needs_sums = needs<Name, neither_a_writable_range_of_floats_nor_added_to>;
template <class Name>
using needs_row_input =
    needs<Name,
          not_a_range_of_float_or_a_narrow_type_nor_strided_rows_such_as_std_span_x_data_x_size>;
template <class Name>
using needs_row_output =
    needs<Name, not_a_lasting_writable_range_nor_strided_rows_such_as_std_span_x_data_x_size>;

}  // namespace detail

}  // namespace lowp
