// SPDX-License-Identifier: Apache-2.0
// The optional end of an argument list: an overflow policy, a report, or both in that order.
#pragma once

#include <lowp/basic_float.hpp>
#include <lowp/report/update_report.hpp>
#include <lowp/simd/operand.hpp>

#include <concepts>
#include <type_traits>

namespace lowp {

namespace detail {
template <class... T>
inline constexpr bool is_outcome = false;
template <>
inline constexpr bool is_outcome<> = true;
template <>
inline constexpr bool is_outcome<overflow> = true;
template <>
inline constexpr bool is_outcome<update_report> = true;
template <>
inline constexpr bool is_outcome<overflow, update_report> = true;

template <class T>
concept report_is_lvalue =
    !std::same_as<std::remove_cvref_t<T>, update_report> || std::same_as<T, update_report&>;
}  // namespace detail

/// `()`, `(overflow)`, `(update_report&)` or `(overflow, update_report&)`.
template <class... T>
concept policy_then_report =
    detail::is_outcome<std::remove_cvref_t<T>...> && (detail::report_is_lvalue<T> && ...);

namespace detail {

/// The policy for elements of type T: what was given, or the format's default.
template <element T>
LOWP_FN constexpr overflow policy_among() {
  return default_overflow<T>;
}
template <element T, class... Rest>
LOWP_FN constexpr overflow policy_among(overflow policy, Rest const&...) {
  return policy;
}
template <element T>
LOWP_FN constexpr overflow policy_among(update_report const&) {
  return default_overflow<T>;
}

// The report that was given; a null no_report otherwise.
LOWP_HOST_FN simd::no_report* report_among() { return nullptr; }
LOWP_HOST_FN simd::no_report* report_among(overflow) { return nullptr; }
LOWP_HOST_FN update_report* report_among(update_report& report) { return &report; }
LOWP_HOST_FN update_report* report_among(overflow, update_report& report) { return &report; }

}  // namespace detail

}  // namespace lowp
