// SPDX-License-Identifier: Apache-2.0
// Scales of blocks that are floats, and elements that are integers of 8 bits.
#pragma once

#include <lowp/quantization/scale_rules.hpp>

#include <span>

namespace lowp::detail {

LOWP_EXACT_BEGIN

template <class T>
inline constexpr bool is_integer_code = std::is_same_v<T, std::int8_t>;

/// The format of an element. An integer has the magnitudes of this one, and two's complement.
template <class T>
inline constexpr format element_format = T::descriptor;
template <>
inline constexpr format element_format<std::int8_t>{1, 7, -6, specials::none};

template <class T>
using carrier_of_element = std::conditional_t<is_integer_code<T>, float8_e5m2, T>;

LOWP_HOST_FN auto carried(auto const& codes) { return codes; }
template <class T>
  requires is_integer_code<std::remove_const_t<T>>
LOWP_HOST_FN auto carried(std::span<T> const& codes) {
  using carrier = std::conditional_t<std::is_const_v<T>, float8_e5m2 const, float8_e5m2>;
  return std::span(reinterpret_cast<carrier*>(codes.data()), codes.size());
}

/// The magnitude that the largest of a block becomes. For integers it is half of 255.
template <class T>
LOWP_FN float largest_element() {
  if constexpr (is_integer_code<T>)
    return 127.5f;
  else
    return lanes::from_bits<float>(decode<T::descriptor>(T::descriptor.max_code()));
}

/// Returns the code of an integer whose magnitude has the code `c` of element_format.
template <class U>
LOWP_FN U integer_code(U const& c) {
  using namespace lanes;
  auto const is_negative = greater(c, broadcast<U>(255));
  U const zero = broadcast<U>(0), rest = c & 255;
  U const limit = select(is_negative, broadcast<U>(128), broadcast<U>(127));
  U const m = min(rest, limit);
  return select(is_negative, zero - m, m) & 255;
}
template <class F>
LOWP_FN F integer_value(lanes::word<F> const& code) {
  using namespace lanes;
  using U = word<F>;
  auto const is_negative = greater(code, broadcast<U>(127));
  F const x = to_real(select(is_negative, broadcast<U>(256) - code, code));
  return select(is_negative, sub(broadcast<F>(0), x), x);
}

template <class Scale>
inline constexpr std::uint32_t last_scale = Scale::descriptor.max_code();
template <>
inline constexpr std::uint32_t last_scale<float> = 0x7f7fffff;

template <class T, class F>
LOWP_FN block_scale_of<F> float_scale(power_rule const& of, F const& amax) {
  using namespace lanes;
  F const most = broadcast<F>(largest_element<T>());
  if (of.rule == block_rule::quotient) {
    float const least = of.type == computed_in::float32    ? 0x1p-23f
                        : of.type == computed_in::bfloat16 ? 0x1p-7f
                                                           : 0x1p-10f;
    F const s = rounded_as(of.type, div(amax, most));
    F const scale = canonical(select(lanes::is_zero(s), broadcast<F>(least), s));
    return {bits(scale), scale};
  }
  F const limit =
      broadcast<F>(static_cast<float>(static_cast<double>(largest_element<T>()) / 1e-12));
  F const q = div(most, amax);
  F const factor = select(lanes::is_nan(q), q, from_bits<F>(min(bits(q), bits(limit))));
  return {bits(canonical(div(broadcast<F>(1), factor))), factor};
}

LOWP_EXACT_END

}  // namespace lowp::detail
