// SPDX-License-Identifier: Apache-2.0
// A number that an operation takes: a value, or one in device memory that a kernel reads.
#pragma once

#include <lowp/base/error_text.hpp>

#include <concepts>

namespace lowp {

namespace detail {

/// A number in memory that the processor may not reach: value() reads it where a kernel runs.
template <class N>
concept stored_number = requires(N const& n) {
  n.stored_at();
  { n.value() } -> std::same_as<float>;
};

template <class N>
concept number_argument = std::convertible_to<N, float> || stored_number<N>;

/// A value as a float; a stored number as it is.
template <number_argument N>
LOWP_HOST_FN auto as_number(N const& n) {
  if constexpr (stored_number<N>)
    return n;
  else
    return static_cast<float>(n);
}

/// The base of a type that makes an element function from a number.
template <class N>
struct made_of_number;
template <>
struct made_of_number<float> {
  float number;

  LOWP_FN float value() const { return number; }
  template <class Check>
  LOWP_HOST_FN error_text checked(Check const& check, char const* function) const {
    return check(function, number);
  }
};
/// No check is possible before a kernel reads the number.
template <stored_number N>
struct made_of_number<N> {
  N number;

  LOWP_FN float value() const { return number.value(); }
  void const* stored_at() const { return number.stored_at(); }
  template <class Check>
  LOWP_HOST_FN error_text checked(Check const&, char const*) const {
    return {};
  }
};

}  // namespace detail

}  // namespace lowp
