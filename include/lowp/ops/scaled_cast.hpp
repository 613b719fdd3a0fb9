// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/base/text.hpp>
#include <lowp/ops/arguments.hpp>
#include <lowp/ops/number.hpp>
#include <lowp/report/amax.hpp>
#include <lowp/simd/executors.hpp>

#include <string>

namespace lowp {

namespace detail {

template <class T>
using neither_an_amax_a_rounding_mode_of_ranges_nor_an_overflow_policy =
    fit<std::same_as<T, amax&> ||
        neither_a_rounding_mode_of_ranges_nor_an_overflow_policy<T>::value>;

/// to = from * scale. Returns `from`, which an amax measures.
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

}  // namespace LOWP_UNIT

template <class Number>
struct make_scaling : made_of_number<Number> {
  LOWP_FN scaling operator()() const { return scaling{this->value()}; }
  [[nodiscard]] LOWP_HOST_FN error_text check(char const* function) const {
    return this->checked(check_scale, function);
  }
};
template <class Number>
make_scaling(Number) -> make_scaling<Number>;

template <class Executor, class In, class Out, class Make, class Report, class R>
[[nodiscard]] LOWP_HOST_FN error_text reported_scaled_cast(Executor const& executor, In& in,
                                                           Out& out, Make const& make,
                                                           Report* largest, R const& rounding,
                                                           overflow policy) {
  extent const from("in", in), to("out", out);
  call_check check(name_on(executor, "scaled_cast"));
  check.add(make.check(check.function()));
  check.element_by_element(executor, {from, to});
  if (check.failed()) return check.text();
  executor(make, to.size, largest,
           simd::operand<element_of<Out>, simd::access::write, R>{std::ranges::data(out), rounding,
                                                                  policy},
           simd::operand<element_of<In>, simd::access::read>{std::ranges::data(in)});
  return {};
}

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

}  // namespace lowp
