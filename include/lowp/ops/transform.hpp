// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/ops/arguments.hpp>
#include <lowp/simd/dispatch.hpp>

#include <initializer_list>

namespace lowp {

namespace detail {

/// A caller's element function as the kernel wants one.
template <class Function>
struct returned {
  Function function;
  template <class F, class... Rest>
  LOWP_FN void operator()(F& out, Rest const&... in) const {
    out = function(in...);
  }
};

template <class Function>
struct make_returned {
  Function function;
  LOWP_FN returned<Function> operator()() const { return {function}; }
};

/// `transform`, where `where` says.
template <class Executor, class Function, class R, class Out, class... In>
[[nodiscard]] LOWP_HOST_FN error_text transform_on(Executor const& executor,
                                                   Function const& function, R rounding, Out&& out,
                                                   In&&... in) {
  must_be_span_rounding<R>();
  must_be_output<Out>();
  (must_be_input<In>(), ...);
  using T = element_of<Out>;
  extent const to("out", out);
  error_text wrong = unequal_sizes("transform", {to, extent("in", in)...});
  for (extent const& from : std::initializer_list<extent>{{"in", in}...})
    if (wrong.empty()) wrong = partial_overlap("transform", to, from);
  if (wrong.empty()) wrong = out_of_reach(executor, "transform", {to, extent("in", in)...});
  if (!wrong.empty()) return wrong;
  executor(make_returned<Function>{function}, to.size, static_cast<simd::no_report*>(nullptr),
           simd::operand<T, simd::access::write, R>{std::ranges::data(out), rounding},
           simd::operand<element_of<In>, simd::access::read>{std::ranges::data(in)}...);
  return {};
}

}  // namespace detail

/// out[i] = round(function(in[i]...)): an operation of your own at the speed of the library's.
///
/// `function` is called with lanes of one type F and returns an F. Written in the words of
/// lanes.hpp (fma, add, mul, select, ...) for any F, it gives the same bits on every backend, and
/// under every compiler flag. A NaN result is the canonical one.
///
/// @param out  n elements; may be the storage of an `in` whose elements have equal size
/// @param in   n elements each
/// @throws std::invalid_argument  sizes differ, or `out` overlaps an `in` in another way
template <class Function, span_rounding R, output Out, input... In>
LOWP_HOST_FN void transform(Function const& function, R rounding, Out&& out, In&&... in) {
  detail::refuse_if(detail::transform_on(simd::this_thread{}, function, rounding, out, in...));
}

template <class Function, class R, class Out, class... In>
  requires(!(span_rounding<R> && output<Out> && (input<In> && ...)))
void transform(Function const&, R, Out&&, In&&...) {
  detail::must_be_span_rounding<R>();
  detail::must_be_output<Out>();
  (detail::must_be_input<In>(), ...);
}

}  // namespace lowp
