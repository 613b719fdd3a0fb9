// SPDX-License-Identifier: Apache-2.0
// What a row operation may fold a row to. Both give the same bits wherever they are computed: a maximum
// has no order, and a sum has one that is a function of the number of columns alone.
#pragma once

#include <lowp/lanes/lanes.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace lowp {

namespace fold {

/// The largest number, -inf if there is none; a NaN is none. Which zero is unspecified.
struct maximum {};

/// Element e is added to sum number e % 256 of 256, in the order of the elements; then sum i + 128 is
/// added to sum i, i + 64 to i, and so on down to i + 1. For n elements the relative error, where none is
/// negative, is at most (n / 256 + 9) * 2^-24.
struct sum {};

inline constexpr std::size_t sums = 256;

/// The number of a fold in an operation's list.
template <int I>
using number = std::integral_constant<int, I>;

}  // namespace fold

namespace detail {

/// What changes no fold.
template <class F>
LOWP_FN F neutral(fold::maximum) {
  return lanes::from_bits<F>(
      lanes::broadcast<lanes::word<F>>(lanes::binary32_infinity | lanes::binary32_sign));
}
template <class F>
LOWP_FN F neutral(fold::sum) {
  return lanes::broadcast<F>(0);
}

}  // namespace detail

}  // namespace lowp
