// SPDX-License-Identifier: Apache-2.0
// The optional end of an argument list: a rounding, an overflow policy, a report, in that order.
#pragma once

#include <lowp/ops/arguments.hpp>
#include <lowp/report/moment_report.hpp>
#include <lowp/simd/operand.hpp>

namespace lowp::detail {

template <class T>
concept reports_update = one_of<T, update_report, update_amax, moment_report>;
/// The report of a list of reports, one for each tensor, or void.
template <class T, class Report = void, class... Others>
struct report_of_list : std::conditional<std::convertible_to<T, std::span<Report>>, Report,
                                         typename report_of_list<T, Others...>::type> {};
template <class T>
struct report_of_list<T, void> : std::type_identity<void> {};
template <class T>
using listed_report = typename report_of_list<T, update_report, update_amax, moment_report>::type;
template <class T>
concept report_list = !std::is_void_v<listed_report<T>>;

template <class... T>
inline constexpr bool reports_moments =
    (std::same_as<std::remove_cvref_t<T>, moment_report> || ...);

template <class... T>
inline constexpr bool is_outcome = sizeof...(T) == 0;
template <class T>
inline constexpr bool is_outcome<T> = reports_update<T> || std::same_as<T, overflow>;
template <class Report>
inline constexpr bool is_outcome<overflow, Report> = reports_update<Report>;

/// `()`, `(overflow)`, `(report&)` or `(overflow, report&)`. The report is an update_report, an
/// update_amax or, of an optimizer's step, a moment_report.
template <class... T>
concept policy_then_report =
    is_outcome<std::remove_cvref_t<T>...> &&
    ((!reports_update<std::remove_cvref_t<T>> || std::same_as<T, std::remove_cvref_t<T>&>) && ...);

/// A rounding, a policy and a report, each optional. IsRounding says that the first is a rounding.
template <bool IsRounding, class First, class... Rest>
concept outcome = (IsRounding && policy_then_report<Rest...>) || policy_then_report<First, Rest...>;

template <class T>
concept outcome_rounding = rounding<T> || has_device_mode<T>;

template <class T>
using neither_a_rounding_mode_of_ranges_an_overflow_policy_nor_a_report_variable =
    fit<range_rounding<std::remove_cvref_t<T>> || policy_then_report<T> || report_list<T>>;
using may_have_outcome =
    may_have<3, names::rounding_overflow_or_report,
             neither_a_rounding_mode_of_ranges_an_overflow_policy_nor_a_report_variable>;

// Return the rounding, the policy and the report that were given; or nearest_even, the default of T
// and a null no_report.
LOWP_HOST_FN auto rounding_among(auto const&...) { return nearest_even{}; }
template <outcome_rounding R>
LOWP_HOST_FN R rounding_among(R const& rounding, auto const&...) {
  return rounding;
}

template <element T>
LOWP_FN constexpr overflow policy_among(auto const&...) {
  return default_overflow<T>;
}
template <element T>
LOWP_FN constexpr overflow policy_among(overflow policy, auto const&...) {
  return policy;
}
template <element T>
LOWP_FN constexpr overflow policy_among(outcome_rounding auto const&, overflow policy,
                                        auto const&...) {
  return policy;
}

LOWP_HOST_FN simd::no_report* report_among() { return nullptr; }
LOWP_HOST_FN auto* report_among(reports_update auto& report) { return &report; }
LOWP_HOST_FN auto* report_among(auto const&, auto&... rest) { return report_among(rest...); }

}  // namespace lowp::detail
