// SPDX-License-Identifier: Apache-2.0
// A number that an operation takes: a value, or one in device memory that a kernel reads.
#pragma once

#include <lowp/base/error_text.hpp>
#include <lowp/format/basic_float.hpp>
#include <lowp/ops/calls.hpp>

#include <concepts>
#include <type_traits>

namespace lowp::detail {

/// A number in memory that the processor may not reach: value() reads it where a kernel runs.
template <class N>
concept stored_number = requires(N const& n) {
  n.stored_at();
  { n.value() } -> std::same_as<float>;
};

template <class N>
concept number_argument = std::convertible_to<N const&, float> || stored_number<N>;

template <class T>
using not_a_number_to_scale_by = fit<number_argument<std::remove_cvref_t<T>>>;

/// Makes an element function of a number, where the number can be read. `Function::check` tells a
/// wrong number from its value; a stored number passes, because only a kernel can read it.
template <class Function, class N>
struct made_of_number {
  N number;

  LOWP_FN Function operator()() const {
    if constexpr (stored_number<N>)
      return Function{number.value()};
    else
      return Function{number};
  }
  auto stored_at() const
    requires stored_number<N>
  {
    return number.stored_at();
  }
  [[nodiscard]] LOWP_HOST_FN error_text check(char const* function) const {
    if constexpr (!stored_number<N>) return Function::check(function, number);
    return {};
  }
};
/// A parameter of a call for any number. A parameter of type float would round as the caller's
/// control register says.
struct float_argument {
  float value;

  template <std::convertible_to<float> N>
  LOWP_HOST_FN float_argument(N const& number) {
    using type = std::remove_cv_t<N>;
    if constexpr (one_of<type, double, long double> || integer<type>)
      value = convert<float>(number);
    else
      value = static_cast<float>(number);
  }
};

template <class Function, number_argument N>
LOWP_HOST_FN auto make_of(N const& n) {
  if constexpr (stored_number<N>)
    return made_of_number<Function, N>{n};
  else
    return made_of_number<Function, float>{float_argument(n).value};
}

}  // namespace lowp::detail
