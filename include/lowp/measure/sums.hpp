// SPDX-License-Identifier: Apache-2.0
// sum, mean, dot and norm, never accumulated in a narrow type. In bfloat16 a running sum of ones
// stops at 256; in float16 a sum of squares of 16 is infinite at the 256th.
#pragma once

#include <lowp/measure/batch_sums.hpp>
#include <lowp/measure/gradients.hpp>
#include <lowp/measure/sum_report.hpp>

namespace lowp {

namespace detail {

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
  must_be_readable<X>();
  auto const terms = extents_of("x", x);
  error_text wrong = invalid_among("sum", {"x"}, x);
  if (wrong.empty()) wrong = unequal_sizes("sum", terms);
  if (wrong.empty()) wrong = out_of_reach(executor, "sum", terms);
  if (!wrong.empty()) return wrong;
  executor(make_adding{}, terms[0].size, &report, operand_of<simd::access::read>(x));
  return {};
}
template <class Executor, class A, class B>
[[nodiscard]] LOWP_HOST_FN error_text dot_on(Executor const& executor, A&& a, B&& b,
                                             sum_report& report) {
  must_be_readable<A>();
  must_be_readable<B>();
  auto const factors = joined(extents_of("a", a), extents_of("b", b));
  error_text wrong = invalid_among("dot", {"a", "b"}, a, b);
  if (wrong.empty()) wrong = unequal_sizes("dot", factors);
  if (wrong.empty()) wrong = out_of_reach(executor, "dot", factors);
  if (!wrong.empty()) return wrong;
  executor(make_adding{}, factors[0].size, &report, operand_of<simd::access::read>(a),
           operand_of<simd::access::read>(b));
  return {};
}

}  // namespace detail

/// The sum of the elements, within 2^-48 of the sum of their magnitudes, however many there are: terms
/// are added in double precision, few at a time, and the sums of those exactly. It cannot overflow;
/// see sum_report for what infinities and NaN do.
///
/// @param x       n elements, or any struct of the folder storage
/// @param report  adds to it, so that shards of a sum can be merged. Its bits do not depend on how the
///                range is cut into shards where all but the last are multiples of 2^14 elements
template <readable X>
LOWP_HOST_FN void sum(X&& x, sum_report& report) {
  detail::refuse_if(detail::sum_on(detail::blocks_on_this_thread{}, x, report));
}
template <readable X>
[[nodiscard]] LOWP_HOST_FN double sum(X&& x) {
  sum_report report;
  sum(x, report);
  return report.value();
}

/// The sum of the elements over their number; NaN of an empty range, as in numpy and PyTorch.
///
/// @param x  n elements, or any struct of the folder storage
template <readable X>
[[nodiscard]] LOWP_HOST_FN double mean(X&& x) {
  sum_report report;
  sum(x, report);
  return report.mean();
}

/// The sum of a[i] * b[i], every product being exact: within 2^-48 of the sum of their magnitudes.
///
/// @param a, b    n elements each, or any structs of the folder storage; may be the same
/// @param report  as for `sum`
/// @throws std::invalid_argument  sizes differ
template <readable A, readable B>
LOWP_HOST_FN void dot(A&& a, B&& b, sum_report& report) {
  detail::refuse_if(detail::dot_on(detail::blocks_on_this_thread{}, a, b, report));
}
template <readable A, readable B>
[[nodiscard]] LOWP_HOST_FN double dot(A&& a, B&& b) {
  sum_report report;
  dot(a, b, report);
  return report.value();
}

/// The Euclidean norm, measure(x).norm(): within a relative 2^-48, NaN where an element is, infinite
/// where one is.
///
/// @param x  n elements, or any struct of the folder storage
template <readable X>
[[nodiscard]] LOWP_HOST_FN double norm(X&& x) {
  return measure(x).norm();
}

}  // namespace lowp
