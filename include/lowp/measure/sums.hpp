// SPDX-License-Identifier: Apache-2.0
// sum, mean, dot and norm, never accumulated in a narrow type. A running sum of ones stops at 256
// in bfloat16. A sum of squares of 16 is infinite at the 256th in float16.
#pragma once

#include <lowp/measure/measuring.hpp>

namespace lowp::detail {

/// Returns the sum of the elements, or adds it to `report`. The error is at most 2^-48 of the sum
/// of all magnitudes, however many. Nothing overflows. See sum_report for infinities and NaN.
///
/// @param x       n elements, or any struct of the folder storage, as in the functions below
/// @param report  the call adds to it, which merges the shards of a sum. Its bits do not depend on
///                the shards if all but the last are multiples of 2^14 elements
template <class Executor>
struct sum_operation : operation<Executor> {
  using calls = call<needs_readable<names::x>, may_have_report<sum_report>>;

  LOWP_HOST_FN void operator()(readable auto&& x, sum_report& report) const {
    run(by_blocks(this->executor), "sum", make<measuring>{}, &report, read("x", x));
  }
  template <readable X>
    requires returns_values<Executor>
  [[nodiscard]] LOWP_HOST_FN double operator()(X&& x) const {
    sum_report report;
    (*this)(x, report);
    return report.value();
  }
};

/// Returns the sum of the elements over their number; NaN if there are none, as numpy and PyTorch.
template <class Executor>
struct mean_operation : operation<Executor> {
  using calls = call<needs_readable<names::x>>;

  [[nodiscard]] LOWP_HOST_FN double operator()(readable auto&& x) const {
    sum_report report;
    run(by_blocks(this->executor), "mean", make<measuring>{}, &report, read("x", x));
    return report.mean();
  }
};

/// Returns the sum of the exact products a[i] * b[i], or adds it to `report`, otherwise as `sum`.
template <class Executor>
struct dot_operation : operation<Executor> {
  using calls =
      call<needs_readable<names::a>, needs_readable<names::b>, may_have_report<sum_report>>;

  LOWP_HOST_FN void operator()(readable auto&& a, readable auto&& b, sum_report& report) const {
    run(by_blocks(this->executor), "dot", make<measuring>{}, &report, read("a", a), read("b", b));
  }
  template <readable A, readable B>
    requires returns_values<Executor>
  [[nodiscard]] LOWP_HOST_FN double operator()(A&& a, B&& b) const {
    sum_report report;
    (*this)(a, b, report);
    return report.value();
  }
};

/// Returns the Euclidean norm, measure(x).norm(), within a relative 2^-48. It is NaN if an element
/// is NaN, and infinite if one is infinite.
template <class Executor>
struct norm_operation : operation<Executor> {
  using calls = call<needs_readable<names::x>>;

  [[nodiscard]] LOWP_HOST_FN double operator()(readable auto&& x) const {
    gradient_report report;
    run(by_blocks(this->executor), "norm", make<measuring>{}, &report, read("x", x));
    return report.norm();
  }
};

}  // namespace lowp::detail

LOWP_ON_THIS_THREAD(sum)
LOWP_ON_THIS_THREAD(mean)
LOWP_ON_THIS_THREAD(dot)
LOWP_ON_THIS_THREAD(norm)

namespace lowp::simd {
#define LOWP_COMPILED_SUM(part, T) \
  LOWP_COMPILED_CALL(              \
      part,                        \
      compiled_elements<detail::make<detail::measuring>, sum_report, operand<T, access::read>>)
LOWP_COMPILED_MEASURES(LOWP_COMPILED_SUM)
#undef LOWP_COMPILED_SUM
}  // namespace lowp::simd
