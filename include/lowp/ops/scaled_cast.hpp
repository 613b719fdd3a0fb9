// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/base/text.hpp>
#include <lowp/ops/arguments.hpp>
#include <lowp/report/amax.hpp>
#include <lowp/simd/dispatch.hpp>

#include <string>

namespace lowp {

namespace detail {

/// to = from * scale; `from` is what an amax is told of.
struct scaling {
  float scale;

  template <class F>
  LOWP_FN F operator()(F& to, F const& from) const {
    to = lanes::mul(from, lanes::broadcast<F>(scale));
    return from;
  }
};

inline namespace LOWP_UNIT {

inline error_text check_scale(char const* function, float scale) {
  if (lanes::is_finite(scale) && lanes::magnitude(scale) != 0) return {};
  return std::string(function) + ": scale is " + text_of(scale) + ", not finite and other than 0";
}

/// What is wrong with the number that an element function is made of; one that lies in device memory cannot
/// be asked.
template <class Make>
error_text check_number(char const* function, Make const& make) {
  if constexpr (requires { make.check(function); })
    return make.check(function);
  else
    return {};
}

}  // namespace LOWP_UNIT

/// A scale that the caller knows.
struct make_scaling {
  float scale;
  LOWP_FN scaling operator()() const { return {scale}; }
  [[nodiscard]] LOWP_HOST_FN error_text check(char const* function) const {
    return check_scale(function, scale);
  }
};

template <class Executor, class In, class Out, class Make, class Report, class R>
[[nodiscard]] LOWP_HOST_FN error_text reported_scaled_cast(Executor const& executor, In& in,
                                                           Out& out, Make const& make,
                                                           Report* largest, R const& rounding,
                                                           overflow policy) {
  must_be_input<In&>();
  must_be_output<Out&>();
  must_be_span_rounding<R>();
  extent const from("in", in), to("out", out);
  error_text wrong = check_number("scaled_cast", make);
  if (wrong.empty()) wrong = unequal_sizes("scaled_cast", {from, to});
  if (wrong.empty()) wrong = partial_overlap("scaled_cast", from, to);
  if (wrong.empty()) wrong = out_of_reach(executor, "scaled_cast", {from, to});
  if (!wrong.empty()) return wrong;
  executor(make, to.size, largest,
           simd::operand<element_of<Out>, simd::access::write, R>{std::ranges::data(out), rounding,
                                                                  policy},
           simd::operand<element_of<In>, simd::access::read>{std::ranges::data(in)});
  return {};
}

/// `scaled_cast`, with and without amax, where `where` says; what is wrong is returned.
template <class Executor, class In, class Out, class Make, class R = nearest_even>
[[nodiscard]] LOWP_HOST_FN error_text
scaled_cast_on(Executor const& executor, In&& in, Out&& out, Make const& make, R rounding = {},
               overflow policy = default_overflow<element_of<Out>>) {
  return reported_scaled_cast(executor, in, out, make, static_cast<simd::no_report*>(nullptr),
                              rounding, policy);
}
template <class Executor, class In, class Out, class Make, class R = nearest_even>
[[nodiscard]] LOWP_HOST_FN error_text
scaled_cast_on(Executor const& executor, In&& in, Out&& out, Make const& make, amax& largest,
               R rounding = {}, overflow policy = default_overflow<element_of<Out>>) {
  return reported_scaled_cast(executor, in, out, make, &largest, rounding, policy);
}

}  // namespace detail

/// out[i] = round(in[i] * scale): one multiplication in float, rounded to nearest even, then one
/// rounding to the format of `out`. Exact before that rounding where the scale is a power of two and
/// the product normal. A NaN result is the canonical one.
///
/// @param in       n elements
/// @param out      n elements; may be the storage of `in` where elements have equal size
/// @param scale    finite and not 0
/// @param largest  optional: the largest |in[i]| is merged into it in the same pass
/// @throws std::invalid_argument  `scale` is not such a number, sizes differ, or the ranges overlap in
///                                another way
template <input In, output Out, span_rounding R = nearest_even>
LOWP_HOST_FN void scaled_cast(In&& in, Out&& out, float scale, R rounding = {},
                              overflow policy = default_overflow<element_of<Out>>) {
  detail::refuse_if(detail::scaled_cast_on(simd::this_thread{}, in, out,
                                           detail::make_scaling{scale}, rounding, policy));
}
template <input In, output Out, span_rounding R = nearest_even>
LOWP_HOST_FN void scaled_cast(In&& in, Out&& out, float scale, amax& largest, R rounding = {},
                              overflow policy = default_overflow<element_of<Out>>) {
  detail::refuse_if(detail::scaled_cast_on(simd::this_thread{}, in, out,
                                           detail::make_scaling{scale}, largest, rounding, policy));
}

}  // namespace lowp
