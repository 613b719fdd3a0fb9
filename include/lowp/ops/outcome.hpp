// SPDX-License-Identifier: Apache-2.0
// The optional end of an argument list: an overflow policy, a report, or both in that order.
#pragma once

#include <lowp/format/basic_float.hpp>
#include <lowp/report/update_amax.hpp>
#include <lowp/report/update_report.hpp>
#include <lowp/simd/operand.hpp>

#include <concepts>
#include <type_traits>

namespace lowp {

namespace detail {
template <class T>
concept reports_update = one_of<T, update_report, update_amax>;

template <class... T>
inline constexpr bool is_outcome = sizeof...(T) == 0;
template <class T>
inline constexpr bool is_outcome<T> = reports_update<T> || std::same_as<T, overflow>;
template <class Report>
inline constexpr bool is_outcome<overflow, Report> = reports_update<Report>;
}  // namespace detail

/// `()`, `(overflow)`, `(report&)` or `(overflow, report&)`. The report is an update_report or an
/// update_amax.
template <class... T>
concept policy_then_report = detail::is_outcome<std::remove_cvref_t<T>...> &&
                             ((!detail::reports_update<std::remove_cvref_t<T>> ||
                               std::same_as<T, std::remove_cvref_t<T>&>) &&
                              ...);

namespace detail {

/// Returns the policy that was given, or the default of T.
template <element T>
LOWP_FN constexpr overflow policy_among(reports_update auto const&...) {
  return default_overflow<T>;
}
template <element T>
LOWP_FN constexpr overflow policy_among(overflow policy, auto const&...) {
  return policy;
}

// Returns the report that was given, or a null no_report.
LOWP_HOST_FN simd::no_report* report_among() { return nullptr; }
LOWP_HOST_FN auto* report_among(reports_update auto& report) { return &report; }
LOWP_HOST_FN auto* report_among(overflow, auto&... report) { return report_among(report...); }

}  // namespace detail

}  // namespace lowp
