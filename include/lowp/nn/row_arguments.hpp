// SPDX-License-Identifier: Apache-2.0
// The arguments of a call over rows: their names, rows and operands.
#pragma once

#include <lowp/nn/row_extent.hpp>
#include <lowp/ops/number.hpp>
#include <lowp/simd/executors.hpp>
#include <lowp/simd/rows/column_loop.hpp>

#include <concepts>
#include <cstddef>
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
struct scratch_role {
  static constexpr row_use use = row_use::scratch;

  row_extent range;
  double* operand;

  [[nodiscard]] LOWP_HOST_FN error_text check(char const* function, row_extent const& in) const {
    std::size_t const least = doubles_of_sums(in.rows, in.columns, Sums);
    if (range.given >= least) return {};
    return joined_text({function, ": scratch has ", range.given, " doubles, not ", least});
  }
};
/// Returns an argument for the sums that a call leaves before they are added up.
template <std::size_t Sums>
LOWP_HOST_FN auto sums_in(std::span<double> scratch) {
  scratch_role<Sums> role{{"scratch", strided_rows{scratch, 1}, 1, row_use::scratch},
                          scratch.data()};
  role.range.is_written = true;
  return role;
}

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

}  // namespace detail

}  // namespace lowp
