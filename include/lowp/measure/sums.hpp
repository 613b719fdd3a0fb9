// SPDX-License-Identifier: Apache-2.0
// The bodies of `sum` and `dot`.
#pragma once

#include <lowp/measure/gradients.hpp>

namespace lowp::detail {

/// Runs `sum` or `dot` on `executor`. Returns the error text, empty if all is right.
template <class Executor, class X>
[[nodiscard]] LOWP_HOST_FN error_text sum_on(Executor const& executor, X&& x, sum_report& report) {
  return read_on(by_blocks(executor), "sum", {"x"}, extents_of("x", x), report, x);
}
template <class Executor, class A, class B>
[[nodiscard]] LOWP_HOST_FN error_text dot_on(Executor const& executor, A&& a, B&& b,
                                             sum_report& report) {
  return read_on(by_blocks(executor), "dot", {"a", "b"},
                 joined(extents_of("a", a), extents_of("b", b)), report, a, b);
}

}  // namespace lowp::detail
