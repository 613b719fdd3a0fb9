// SPDX-License-Identifier: Apache-2.0
// The two passes of `clamp_overflow`: the first finds overflows, the second clamps.
#pragma once

#include <lowp/measure/gradients.hpp>
#include <lowp/nn/clamp_report.hpp>

#include <limits>

namespace lowp::detail {

/// Limits the magnitude of x to `limit`. NaN stays.
struct clamping {
  float limit;

  template <class F>
  LOWP_FN void operator()(F& x) const {
    using U = lanes::word<F>;
    U const most = lanes::broadcast<U>(lanes::bits(limit));
    U const bounded =
        lanes::min(lanes::magnitude(x), most) | (lanes::bits(x) & lanes::binary32_sign);
    x = lanes::select(lanes::is_nan(x), x, lanes::from_bits<F>(lanes::hidden(bounded)));
  }
};

/// Reads the report only when the clamp runs, so that a GPU need not wait for the report.
template <clampable T>
struct make_clamping {
  static constexpr float largest = convert<float>(std::numeric_limits<T>::max());
  static constexpr float limit = convert<float>(clamp_limit<T>);

  clamp_report_of<T> const* report;

  LOWP_FN clamping operator()() const { return {report->infinite == 0 ? largest : limit}; }
  void const* stored_at() const { return report; }
};

template <class Executor, class X>
[[nodiscard]] LOWP_HOST_FN error_text find_overflow_on(Executor const& executor, X&& x,
                                                       clamp_report_of<element_of<X>>& report) {
  return read_on(executor, "clamp_overflow", {"x"}, extents_of("x", x), report, x);
}
/// Clamps by the report of find_overflow_on.
template <class Executor, class X>
LOWP_HOST_FN void clamp_found_on(Executor const& executor, X&& x,
                                 clamp_report_of<element_of<X>> const& report) {
  using T = element_of<X>;
  executor(make_clamping<T>{&report}, std::ranges::size(x), static_cast<simd::no_report*>(nullptr),
           simd::operand<T, simd::access::read_write>{std::ranges::data(x)});
}

}  // namespace lowp::detail
