// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/base/text.hpp>
#include <lowp/ops/arguments.hpp>
#include <lowp/ops/outcome.hpp>
#include <lowp/ops/scaled_cast.hpp>
#include <lowp/ops/storage_operands.hpp>
#include <lowp/simd/dispatch.hpp>

#include <string>

namespace lowp {

namespace detail {

/// p = fma(alpha, u, p); the update is alpha * u.
struct scaled_addition {
  float alpha;

  template <class F>
  LOWP_FN F operator()(F& p, F const& u) const {
    F const a = lanes::broadcast<F>(alpha);
    p = lanes::fma(a, u, p);
    return lanes::mul(a, u);
  }
};

inline namespace LOWP_UNIT {
inline error_text check_alpha(char const* function, float alpha) {
  if (lanes::is_finite(alpha)) return {};
  return std::string(function) + ": alpha is " + text_of(alpha) + ", not finite";
}
}  // namespace LOWP_UNIT

/// An alpha that the caller knows.
struct make_scaled_addition {
  float alpha;
  LOWP_FN scaled_addition operator()() const { return {alpha}; }
  [[nodiscard]] LOWP_HOST_FN error_text check(char const* function) const {
    return check_alpha(function, alpha);
  }
};

/// `fused_add`, where `where` says.
template <class Executor, class P, class Make, class U, class R = nearest_even, class... Outcome>
[[nodiscard]] LOWP_HOST_FN error_text fused_add_on(Executor const& executor, P&& p,
                                                   Make const& make, U&& u, R rounding = {},
                                                   Outcome&&... outcome) {
  must_be_storage<P>();
  must_be_readable<U>();
  must_be_span_rounding<R>();
  auto const to = extents_of("p", p);
  auto const from = extents_of("u", u);
  auto const all = joined(to, from);
  error_text wrong = check_number("fused_add", make);
  if (wrong.empty()) wrong = invalid_among("fused_add", {"p", "u"}, p, u);
  if (wrong.empty()) wrong = unequal_sizes("fused_add", all);
  if (wrong.empty()) wrong = overlap_among("fused_add", to, from);
  if (wrong.empty()) wrong = out_of_reach(executor, "fused_add", all);
  if (!wrong.empty()) return wrong;
  executor(
      make, all[0].size, report_among(outcome...),
      operand_of<simd::access::read_write>(p, rounding, policy_among<policy_type<P>>(outcome...)),
      operand_of<simd::access::read>(u));
  return {};
}

}  // namespace detail

/// p[i] = round(fma(alpha, u[i], p[i])): one fused multiply-add in float, one rounding to p's
/// format. A NaN result is the canonical one.
///
/// @param p        n elements
/// @param alpha    finite
/// @param u        n elements; may be the storage of p where elements have equal size
/// @param outcome  optionally an overflow policy, then optionally an update_report or an
///                 update_amax, whose gradient is u, to add to
/// @throws std::invalid_argument  `alpha` is infinite or NaN, sizes differ, or p and u overlap in another
///                                way
template <storage P, readable U, span_rounding R = nearest_even, class... Outcome>
  requires policy_then_report<Outcome...>
LOWP_HOST_FN void fused_add(P&& p, float alpha, U&& u, R rounding = {}, Outcome&&... outcome) {
  detail::refuse_if(detail::fused_add_on(
      simd::this_thread{}, p, detail::make_scaled_addition{alpha}, u, rounding, outcome...));
}

template <class P, class U, class R = nearest_even, class... Outcome>
  requires(!(storage<P> && readable<U> && span_rounding<R>))
void fused_add(P&&, float, U&&, R = {}, Outcome&&...) {
  detail::must_be_storage<P>();
  detail::must_be_readable<U>();
  detail::must_be_span_rounding<R>();
}

}  // namespace lowp
