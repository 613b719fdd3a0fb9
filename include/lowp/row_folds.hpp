// SPDX-License-Identifier: Apache-2.0
// What a row operation may fold a row to. Both give the same bits wherever they are computed: a maximum
// has no order, and a sum has one that is a function of the number of columns alone.
#pragma once

#include <lowp/lanes.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace lowp {

namespace fold {

/// The largest; NaN if one of them is. Which zero is unspecified.
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

/// The largest of numbers, found among integers: the greatest of positive patterns, the least of
/// negative ones, and the greatest magnitude, which tells of a NaN.
template <class F>
class running_maximum {
  using U = lanes::word<F>;
  static constexpr std::uint32_t minus_infinity = lanes::binary32_infinity | lanes::binary32_sign;

 public:
  /// As integers a key orders as its number does; above all is NaN's.
  static constexpr std::uint32_t nan_key = 0x7fffffff;

  LOWP_FN void add(F const& x) {
    U const bits = lanes::bits(x);
    greatest_ = lanes::max(greatest_, bits);
    least_ = lanes::min(least_, bits);
    magnitude_ = lanes::max(magnitude_, lanes::magnitude(x));
  }
  LOWP_FN U key() const {
    auto const has_positive = is_positive(greatest_);
    U const key = lanes::select(has_positive, greatest_, least_ ^ nan_key);
    return lanes::select(lanes::greater(magnitude_, lanes::spread<U>(lanes::binary32_infinity)),
                         lanes::spread<U>(nan_key), key);
  }
  LOWP_FN static F of_key(U const& key) {
    return lanes::from_bits<F>(lanes::select(is_positive(key), key, key ^ nan_key));
  }

 private:
  LOWP_FN static auto is_positive(U const& bits) {
    return lanes::greater(bits, lanes::spread<U>(0xffffffff));
  }

  U greatest_ = lanes::spread<U>(minus_infinity), least_ = lanes::spread<U>(minus_infinity),
    magnitude_ = lanes::spread<U>(0);
};

/// What changes no fold.
template <class F>
LOWP_FN F neutral(fold::maximum) {
  return lanes::from_bits<F>(
      lanes::spread<lanes::word<F>>(lanes::binary32_infinity | lanes::binary32_sign));
}
template <class F>
LOWP_FN F neutral(fold::sum) {
  return lanes::spread<F>(0);
}

}  // namespace detail

}  // namespace lowp
