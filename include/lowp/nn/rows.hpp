// SPDX-License-Identifier: Apache-2.0
// A call over the rows of a matrix as its arguments and what they have for a row:
//
//     run_rows(executor, "rms_norm", operation, read_rows("in", in, columns),
//              in_every_row("weight", weight, columns), write_rows("out", out, columns),
//              for_each_row("reciprocal_rms", reciprocal_rms));
//
// checks everything, `operation.check` too, before anything is written, and calls the executor. In
// all such calls, rows have `columns` elements, at least 1. They lie row after row, or are
// strided_rows. Arguments have equally many rows. A result in rows may be the storage of rows that
// are read, if elements and strides have equal size. They throw std::invalid_argument if sizes do
// not fit, a number is out of range or ranges overlap in another way. nn/README.md has error
// bounds.
#pragma once

#include <lowp/lanes/row_folds.hpp>
#include <lowp/nn/row_arguments.hpp>
#include <lowp/simd/rows/row_sum.hpp>

#include <new>

namespace lowp {

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

inline namespace LOWP_SHARED {

/// Memory of the host for sums over rows, at the start of a cache line.
class cache_lines {
 public:
  LOWP_HOST_FN cache_lines() {}
  cache_lines(cache_lines const&) = delete;
  ~cache_lines();

  void* begin(std::size_t bytes);

 private:
  void* memory_ = nullptr;
};

#if defined(LOWP_BODIES)
LOWP_NOINLINE LOWP_LIB cache_lines::~cache_lines() {
  ::operator delete(memory_, std::align_val_t{64});
}
LOWP_NOINLINE LOWP_LIB void* cache_lines::begin(std::size_t bytes) {
  memory_ = ::operator new(bytes, std::align_val_t{64});
  return __builtin_memset(memory_, 0, bytes);
}
#endif

}  // namespace LOWP_SHARED

inline namespace LOWP_UNIT {

void check_role(call_check& check, auto const& role, row_extent const& in) {
  if constexpr (requires { role.check("", in); }) check.add(role.check(check.function(), in));
}

/// Returns the error text of a call over rows, of which `in` is the first.
template <class Executor, class Operation, class In, class... Role>
error_text check_call_over_rows(Executor const& executor, char const* function,
                                Operation const& operation, In const& in, Role const&... role) {
  call_check check(function);
  row_extent const* const ranges[] = {&in.range, &role.range...};
  check_rows(check, ranges);
  if (check.failed()) return check.text();
  if constexpr ((requires { role.check(function, in.range); } || ...))
    (check_role(check, role, in.range), ...);
  check_role(check, operation, in.range);
  if constexpr (requires { Executor::most_stride; })
    for (row_extent const* each : ranges)
      if (each->stride > Executor::most_stride)
        check.add(
            joined_text({function, ": ", each->name, " has rows that begin ", each->stride,
                         " elements apart: a GPU's kernels take at most ", Executor::most_stride}));
  check_row_overlap(check, ranges);
  for (row_extent const* each : ranges) check.reachable(executor, *each);
  return check.text();
}

}  // namespace LOWP_UNIT

template <class T, std::size_t... K, class... Other>
LOWP_HOST_FN auto put_before(
    [[maybe_unused]] simd::tuple_of<std::index_sequence<K...>, Other...> const& others,
    T const& first) {
  return simd::tuple<T, Other...>{{first}, {simd::get<K>(others)}...};
}
/// Returns a tuple of the operands whose roles have a use.
template <row_use Use>
LOWP_HOST_FN simd::tuple<> operands_with() {
  return {};
}
template <row_use Use, class First, class... Role>
LOWP_HOST_FN auto operands_with(First const& first, Role const&... role) {
  if constexpr (First::use == Use)
    return put_before(operands_with<Use>(role...), first.operand);
  else
    return operands_with<Use>(role...);
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

/// Returns the call over rows without sums.
template <class Operation, class In, class... Role>
LOWP_HOST_FN auto row_call_of(Operation const& operation, In const& in, Role const&... role) {
  auto to = simd::get<0>(operands_with<row_use::result>(role...));
  auto scores = operands_with<row_use::score>(in, role...);
  auto per_column = operands_with<row_use::column>(role...);
  auto statistics = operands_with<row_use::statistic>(role...);
  return simd::row_call<Operation, decltype(to), decltype(scores), decltype(per_column),
                        decltype(statistics)>{operation, 0,      in.range.rows, in.range.columns,
                                              to,        scores, per_column,    statistics};
}

/// Runs a call over rows that was checked.
template <class Executor, class Operation, class In, class... Role>
LOWP_HOST_FN void run_checked_rows(Executor const& executor, Operation const& operation,
                                   In const& in, Role const&... role) {
  if constexpr (((Role::use == row_use::result) || ...)) {
    if (in.range.rows == 0) return;
    auto const call = row_call_of(operation, in, role...);
    if constexpr (((Role::use == row_use::addend) || ...))
      executor(simd::get<0>(operands_with<row_use::addend>(role...)).before(call));
    else
      executor(call);
  }
}

/// Runs a call over rows and its sums in one pass over memory. Scratch is the host's unless an
/// argument has it.
template <class Executor, class Operation, class In, class... Role>
LOWP_HOST_FN void run_rows_and_sums(Executor const& executor, Operation const& operation,
                                    In const& in, Role const&... role) {
  auto const sums = operands_with<row_use::column_sum>(role...);
  auto const rows = row_call_of(operation, in, role...);
  constexpr int count = static_cast<int>(sums.size);
  std::size_t least =
      std::derived_from<Executor, simd::this_thread> ? 0 : simd::sum_lines::least_rows;
  if constexpr (requires { executor.least_rows_of_runs(); }) least = executor.least_rows_of_runs();
  simd::summing_row_call<std::remove_const_t<decltype(rows)>, count> call{
      rows, simd::sum_lines::of(rows.rows, rows.columns, count, least)};
  cache_lines own;
  if constexpr (has_own_memory<Executor>) {
    if (!executor.keeps_rows(call)) {
      sum_columns(executor, operation, in, role...);
      return run_checked_rows(executor, operation, in, role...);
    }
    call.lines.memory = simd::get<0>(operands_with<row_use::scratch>(role...));
  } else {
    call.lines.memory = own.begin(call.bytes());
  }
  if (rows.rows != 0) executor(call);
  executor(simd::line_call<std::remove_const_t<decltype(sums)>>{call.lines, rows.columns, sums});
}

/// Checks a call over rows and runs it: the arguments in the order of the call, `in` first.
template <class Executor, class Operation, class In, class... Role>
LOWP_HOST_FN void run_rows(Executor const& executor, char const* function,
                           Operation const& operation, In const& in, Role const&... role) {
  error_text const wrong = check_call_over_rows(executor, function, operation, in, role...);
  if (!wrong.empty()) return executor.refuse_if(wrong);
  constexpr auto has = [](row_use use) { return ((Role::use == use) || ...); };
  if constexpr (has(row_use::column_sum) && has(row_use::result) &&
                (has(row_use::scratch) || !has_own_memory<Executor>)) {
    run_rows_and_sums(executor, operation, in, role...);
  } else {
    if constexpr (has(row_use::column_sum)) sum_columns(executor, operation, in, role...);
    run_checked_rows(executor, operation, in, role...);
  }
}

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
