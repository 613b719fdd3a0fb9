// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/measure/batch_sums.hpp>
#include <lowp/measure/gradients.hpp>
#include <lowp/measure/sum_report.hpp>

namespace lowp::detail {

/// The terms: elements, or products of two.
struct adding {
  template <class F>
  LOWP_FN F operator()(F const& x) const {
    return x;
  }
  template <class F>
  LOWP_FN factors<F> operator()(F const& a, F const& b) const {
    return {a, b};
  }
};
struct make_adding {
  LOWP_FN adding operator()() const { return {}; }
};

/// Runs `sum` or `dot` on `executor`. Returns the error text, empty if all is right.
template <class Executor, class X>
[[nodiscard]] LOWP_HOST_FN error_text sum_on(Executor const& executor, X&& x, sum_report& report) {
  auto const terms = extents_of("x", x);
  error_text const wrong = check_readable(executor, "sum", {"x"}, terms, x);
  if (!wrong.empty()) return wrong;
  by_blocks(executor)(make_adding{}, terms[0].size, &report, operand_of<simd::access::read>(x));
  return {};
}
template <class Executor, class A, class B>
[[nodiscard]] LOWP_HOST_FN error_text dot_on(Executor const& executor, A&& a, B&& b,
                                             sum_report& report) {
  auto const factors = joined(extents_of("a", a), extents_of("b", b));
  error_text const wrong = check_readable(executor, "dot", {"a", "b"}, factors, a, b);
  if (!wrong.empty()) return wrong;
  by_blocks(executor)(make_adding{}, factors[0].size, &report, operand_of<simd::access::read>(a),
                      operand_of<simd::access::read>(b));
  return {};
}

}  // namespace lowp::detail
