// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/ops/arguments.hpp>
#include <lowp/simd/executors.hpp>

#include <initializer_list>

namespace lowp {

namespace detail {

template <class T>
using not_an_element_function = fit<std::is_class_v<std::remove_cvref_t<T>>>;

/// Adapts a function that returns its result to the form that a kernel calls.
template <class Function>
struct returned {
  Function function;

  template <class Out, class... In>
  LOWP_FN void operator()(Out& out, In const&... in) const {
    out = function(in...);
  }
};

template <class Executor, class Function, class R, class Out, class... In>
[[nodiscard]] LOWP_HOST_FN error_text transform_on(Executor const& executor,
                                                   Function const& function, R rounding, Out&& out,
                                                   In&&... in) {
  using T = element_of<Out>;
  extent const to("out", out);
  call_check check("transform");
  check.element_by_element(executor, {extent("in", in)..., to});
  if (check.failed()) return check.text();
  executor(make<returned<Function>>{{function}}, to.size, static_cast<simd::no_report*>(nullptr),
           simd::operand<T, simd::access::write, R>{std::ranges::data(out), rounding},
           simd::operand<element_of<In>, simd::access::read>{std::ranges::data(in)}...);
  return {};
}

}  // namespace detail

}  // namespace lowp
