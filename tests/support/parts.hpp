// SPDX-License-Identifier: Apache-2.0
// Every kernel format is in one of PARTS programs; all in one would take minutes and gigabytes to
// compile. Program PART takes every PARTS-th format, beginning with that number.
#pragma once

#include <gtest/gtest.h>

#include <concepts>
#include <cstddef>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "support.hpp"

namespace lowp_test {

template <class List>
struct part_of;
template <class... T>
struct part_of<testing::Types<T...>> {
  template <std::size_t... I>
  static auto pick(std::index_sequence<I...>)
      -> testing::Types<std::tuple_element_t<PARTS * I + PART, std::tuple<T...>>...>;
  using type =
      decltype(pick(std::make_index_sequence<(sizeof...(T) + PARTS - 1 - PART) / PARTS>()));
};
using formats_of_this_part = part_of<kernel_formats>::type;

// The type of elements of T before an in-place cast: another type of the same size.
template <lowp::narrow T>
using partner = std::conditional_t<
    sizeof(T) == 2,
    std::conditional_t<std::same_as<T, lowp::float16>, lowp::bfloat16, lowp::float16>,
    std::conditional_t<std::same_as<T, lowp::float8_e5m2>, lowp::float8_e4m3fn, lowp::float8_e5m2>>;

// A weight or a moment of a format that steps take. Others are gradients alone.
template <class T>
using slot = std::conditional_t<std::numeric_limits<T>::is_signed, T, lowp::bfloat16>;

}  // namespace lowp_test
