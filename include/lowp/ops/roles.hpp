// SPDX-License-Identifier: Apache-2.0
// A call as its ranges and their roles:
//
//     run(executor, "fused_add", make, report, read_write("p", p, rounding, policy), read("u", u));
//
// checks everything before anything is written, makes the operands and calls the executor. Of a
// refused call the executor gets the error text, and nothing runs. In all such calls, ranges have
// equally many elements. A result may be the storage of a range that is read, if elements have
// equal size. They throw std::invalid_argument if sizes differ, a number is out of range or ranges
// overlap in another way. A stochastic mode is keyed by the element's index.
#pragma once

#include <lowp/ops/arguments.hpp>
#include <lowp/simd/executors.hpp>

namespace lowp::detail {

/// The ranges and the operand of an argument. ops/storage_operands.hpp has those of storages.
template <class S>
struct argument_of {
  using rounded_element = explicit_of<element_of<S>>;

  static constexpr std::size_t ranges = 1;
  LOWP_HOST_FN static void describe(extent* to, char const* name, S& s) { *to = extent(name, s); }
  template <simd::access A, class R>
  LOWP_HOST_FN static auto operand(S& s, R const& rounding, overflow policy, std::uint32_t draw) {
    if constexpr (packed_range<S>)
      return simd::operand<rounded_element, A, R, typename S::order>{s.data(), rounding, policy,
                                                                     draw};
    else
      return simd::operand<rounded_element, A, R>{explicit_data(std::ranges::data(s)), rounding,
                                                  policy, draw};
  }
};

template <class S>
using rounded_element = typename argument_of<std::remove_cvref_t<S>>::rounded_element;

/// An argument of a call. Rounding, policy and draw matter if it is written.
template <simd::access A, class S, class R>
struct role {
  static constexpr bool is_read = A != simd::access::write;
  static constexpr std::size_t ranges = argument_of<S>::ranges;

  char const* name;
  S& values;
  R rounding;
  overflow policy;
  std::uint32_t draw = 0;
  bool is_apart = false;  ///< no other argument may be its storage

  LOWP_HOST_FN std::size_t size() const {
    extent all[ranges];
    argument_of<S>::describe(all, name, values);
    return all->size;
  }
  LOWP_HOST_FN auto operand() const {
    return argument_of<S>::template operand<A>(values, rounding, policy, draw);
  }
  /// Describes the ranges, and returns the place behind them.
  LOWP_HOST_FN extent* describe(extent* to) const {
    argument_of<S>::describe(to, name, values);
    for (std::size_t i = 0; i < ranges; ++i) to[i].is_written = A != simd::access::read;
    if (ranges == 1 || to[ranges - 1].per_entry != 1) to->may_coincide = !is_apart;
    return to + ranges;
  }
};

template <simd::access A>
struct make_role {
  template <class S, class R = nearest_even>
  LOWP_HOST_FN role<A, S, R> operator()(
      char const* name, S& values, R const& rounding = {},
      overflow policy = default_overflow<rounded_element<S>>) const {
    return {name, values, rounding, policy};
  }
};
inline constexpr make_role<simd::access::read> read{};
inline constexpr make_role<simd::access::write> write{};
inline constexpr make_role<simd::access::read_write> read_write{};

inline constexpr simd::no_report* no_report = nullptr;

inline namespace LOWP_UNIT {

void check_storage(call_check& check, auto const& role) {
  if constexpr (requires {
                  { role.values.invalid() } -> std::same_as<error_text>;
                }) {
    error_text const why = role.values.invalid();
    if (!why.empty())
      check.add(joined_text(
          {check.function(), ": ", role.name, *role.name == '\0' ? "" : ": ", why.c_str()}));
  }
}

/// Describes the ranges of a call in the order of its arguments: a result that is only written
/// comes first in a kernel and last in a call.
template <class First, class... Rest>
LOWP_HOST_FN void describe_all(extent* to, First const& first, Rest const&... rest) {
  if constexpr (First::is_read) to = first.describe(to);
  ((to = rest.describe(to)), ...);
  if constexpr (!First::is_read) first.describe(to);
}

template <class Make, class... Role>
bool check_call(auto const& executor, char const* function, Make const& make, Role const&... role) {
  call_check check(name_on(executor, function));
  bool are_numbers_known = false;
  if constexpr (requires { executor.knows_numbers(); })
    are_numbers_known = executor.knows_numbers();
  if constexpr (requires { make.check(function); })
    if (!are_numbers_known) check.add(make.check(check.function()));
  if constexpr ((requires { role.values.invalid(); } || ...)) (check_storage(check, role), ...);
  extent ranges[(Role::ranges + ...)];
  describe_all(ranges, role...);
  check.equal_sizes(ranges, std::size(ranges));
  check.no_written_overlap(ranges, std::size(ranges));
  for (extent const& each : ranges) check.reachable(executor, each);
  if (check.failed()) executor.refuse_if(check.text());
  return !check.failed();
}

}  // namespace LOWP_UNIT

/// Returns true if a call is right. Otherwise the executor gets the error text.
template <class Executor, class... Role>
LOWP_HOST_FN bool is_right(Executor const& executor, char const* function, auto const& make,
                           Role const&... role) {
  if constexpr (requires { Executor::has_checked; })
    return true;
  else
    return check_call(executor, function, make, role...);
}

/// Returns the call of the loop for these arguments.
template <class Make, class Report, class First, class... Rest>
LOWP_HOST_FN auto call_of(Make const& make, Report* report, First const& first,
                          Rest const&... rest) {
  return simd::element_call(make, first.size(), report, first.operand(), rest.operand()...);
}

template <class Executor, class Make, class Report, class... Role>
LOWP_HOST_FN void run(Executor const& executor, char const* function, Make const& make,
                      Report* report, Role const&... role) {
  if (is_right(executor, function, make, role...)) executor(call_of(make, report, role...));
}

}  // namespace lowp::detail
