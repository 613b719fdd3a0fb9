// SPDX-License-Identifier: Apache-2.0
// The scales of blocks: powers of two, and floats beside elements that may be integers of 8 bits.
#pragma once

#include <lowp/quantization/scale_rules.hpp>

#include <span>

namespace lowp::detail {

LOWP_EXACT_BEGIN

/// Returns the largest distance from 2^e, in units of its last place, whose logarithm rounds to e.
/// The logarithm's own last place grows with |e|: j is |e|, or |e| - 1 on the side of zero.
template <class U>
LOWP_FN U rounded_away_by_log(U const& j) {
  using namespace lanes;
  U sum = broadcast<U>(0);
  constexpr std::uint32_t more[] = {1, 1, 3, 6, 11, 22, 44};
  for (int k = 0; k < 7; ++k)
    sum = sum +
          select(greater(j, broadcast<U>((4u << k) - 1)), broadcast<U>(more[k]), broadcast<U>(0));
  return sum;
}

/// Returns the biased exponent of 2^ceil(log2(x)) or 2^floor(log2(x)), where the logarithm is
/// rounded to float. It may be negative.
template <bool Up, class F>
LOWP_FN lanes::word<F> exponent_by_log(F const& x) {
  using namespace lanes;
  using U = word<F>;
  U const zero = broadcast<U>(0), one = broadcast<U>(1);
  auto const is_subnormal = greater(broadcast<U>(1u << 23), bits(x));
  U const b = select(is_subnormal, bits(mul(x, broadcast<F>(0x1p24f))), bits(x));
  U const field = (b >> 23) - select(is_subnormal, broadcast<U>(24), zero);
  U const rest = b & 0x7fffff, bias = broadcast<U>(127);
  U const j = select(greater(bias, field), bias - field - one, field - bias);
  if constexpr (Up) {
    return field + select(greater(rest, rounded_away_by_log(j)), one, zero);
  } else {
    U const next = field + one;
    auto const away =
        mask_and(greater(rounded_away_by_log(j + j) + 1, broadcast<U>(1u << 23) - rest),
                 mask_not(equal(next, bias)));
    return select(away, next, field);
  }
}

/// The number 2^(code - 127) or its reciprocal, of a code from 0 to 254.
template <class U>
LOWP_FN U bits_of_power(U const& code) {
  return lanes::select(lanes::equal(code, lanes::broadcast<U>(0)), lanes::broadcast<U>(1u << 22),
                       code << 23);
}

/// Half a unit of the last place of T's significand.
template <class T>
inline constexpr std::uint32_t half_place = 1u << (22 - T::descriptor.significand_bits);

template <class T, std::same_as<float8_e8m0fnu> Scale, class F>
LOWP_FN block_scale_of<F> scale_by(power_rule const& p, tensor_scales const&, F const& amax) {
  using namespace lanes;
  using U = word<F>;
  constexpr format f = T::descriptor;
  constexpr auto emax = static_cast<std::uint32_t>(f.max_exponent());
  float const most = from_bits<float>(detail::decode<f>(f.max_code()));
  U const zero = broadcast<U>(0), one = broadcast<U>(1), nan = broadcast<U>(255), b = bits(amax);
  U code = zero;
  switch (p.rule) {
    case block_rule::carry:
      code = ((b + p.carry) >> 23) - emax;
      break;
    case block_rule::ceil_log: {
      F const q = div(amax, broadcast<F>(most));
      code = min(select(lanes::is_zero(q), zero, exponent_by_log<true>(q)), broadcast<U>(254));
      break;
    }
    case block_rule::floor_log:
      code = select(lanes::is_zero(amax), zero, exponent_by_log<false>(amax) - emax);
      break;
    default: {
      U const q = bits(mul(amax, broadcast<F>(div(1.0f, most))));
      U const exact = select(greater(broadcast<U>(1u << 23), q), broadcast<U>(0x400000), zero);
      U const up = select(greater(q & 0x7fffff, exact), one, zero);
      code = min((q >> 23) + up, broadcast<U>(254));
      break;
    }
  }
  code = max(code, zero);
  using special = infinite_scale;
  bool const is_nan_then = p.infinite == special::is_nan || p.infinite == special::is_nan_rounded;
  bool const is_carried =
      p.infinite == special::is_nan_rounded || p.infinite == special::is_one_rounded;
  auto const infinite = greater((b + (is_carried ? p.carry : 0)) >> 23, broadcast<U>(254));
  U const one_or_zero = p.infinite == special::is_zero ? zero : broadcast<U>(127);
  if (p.infinite != special::is_rounded)
    code = select(infinite, is_nan_then ? nan : one_or_zero, code);
  code = select(lanes::is_nan(amax), nan, code);
  if (p.is_value) return {code, from_bits<F>(bits_of_power(code))};
  U const of = max(code, broadcast<U>(p.least));
  U factor = bits_of_power(broadcast<U>(254) - of);
  if (p.zero_is_one) factor = select(equal(code, zero), broadcast<U>(lanes::bits(1.0f)), factor);
  factor = select(equal(code, nan), broadcast<U>(binary32_nan), factor);
  if (p.infinite != special::is_rounded && !is_nan_then) factor = select(infinite, zero, factor);
  return {code, from_bits<F>(factor)};
}

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
  U const sign = c >> 8, m = min(c & 255, sign + 127);
  return select(equal(sign, broadcast<U>(1)), broadcast<U>(0) - m, m) & 255;
}
template <class F>
LOWP_FN F integer_value(lanes::word<F> const& code) {
  return lanes::sub(lanes::to_real(code ^ 128), lanes::broadcast<F>(128));
}

template <class Scale>
inline constexpr std::uint32_t last_scale = Scale::descriptor.max_code();
template <>
inline constexpr std::uint32_t last_scale<float> = 0x7f7fffff;

template <class T, std::same_as<float> Scale, class F>
LOWP_FN block_scale_of<F> scale_by(power_rule const& of, tensor_scales const&, F const& amax) {
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
