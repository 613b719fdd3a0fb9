// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/base/text.hpp>
#include <lowp/ops/arguments.hpp>
#include <lowp/ops/number.hpp>
#include <lowp/ops/outcome.hpp>
#include <lowp/ops/storage_operands.hpp>
#include <lowp/simd/executors.hpp>

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

template <class Number>
struct make_scaled_addition : made_of_number<Number> {
  LOWP_FN scaled_addition operator()() const { return scaled_addition{this->value()}; }
  [[nodiscard]] LOWP_HOST_FN error_text check(char const* function) const {
    return this->checked(check_alpha, function);
  }
};
template <class Number>
make_scaled_addition(Number) -> make_scaled_addition<Number>;

template <class Executor, class P, class Make, class U, class R = nearest_even, class... Outcome>
[[nodiscard]] LOWP_HOST_FN error_text fused_add_on(Executor const& executor, P&& p,
                                                   Make const& make, U&& u, R rounding = {},
                                                   Outcome&&... outcome) {
  auto const to = extents_of("p", p);
  auto const from = extents_of("u", u);
  auto const all = joined(to, from);
  call_check check(name_on(executor, "fused_add"));
  check.add(make.check(check.function()));
  check_storages(check, {"p", "u"}, p, u);
  check.equal_sizes(all);
  check_overlap(check, to, from);
  check.reachable(executor, all);
  if (check.failed()) return check.text();
  executor(
      make, all[0].size, report_among(outcome...),
      operand_of<simd::access::read_write>(p, rounding, policy_among<policy_type<P>>(outcome...)),
      operand_of<simd::access::read>(u));
  return {};
}

}  // namespace detail

}  // namespace lowp
