// SPDX-License-Identifier: Apache-2.0
// The scale of a block by a recipe: its code, and the factor of the block's elements. Each line is
// one operation in float, in the order of the package that a rule is named after.
#pragma once

#include <lowp/base/environment.hpp>
#include <lowp/format/encode_in_range.hpp>
#include <lowp/lanes/lanes.hpp>
#include <lowp/storage/layout.hpp>
#include <lowp/storage/scale.hpp>

namespace lowp {

/// A rule for the scale of a block. The first ones make scales of float8_e4m3fn beside one of the
/// tensor, and the last two make floats. The others make powers of two.
enum class block_rule : std::uint8_t {
  te,                  ///< e4m3(amax * (S / 6)), S = 2688 / tensor amax
  torchao_two_level,   ///< e4m3(amax / 6 / t), at least 2^-6, t = tensor amax / 2688
  torchao_one_level,   ///< e4m3(amax / 6), at least 2^-6
  compressed_tensors,  ///< e4m3(S * (amax / 6)), S = 2688 * (1 / tensor amax); 0.125 for 0
  modelopt,            ///< e4m3(amax / (6 * t)), at least 2^-9, 1 for 0
  ggml,                ///< amax / 6 in ggml's own e4m3, which has no codes from 256 to 416
  upward,              ///< the smallest code with amax <= 6 * code * t, t a power of two
  sixth,               ///< ue5m3(amax / 6), at least 2^-17, without a scale of the tensor
  carry,               ///< the exponent of amax after `carry` is added to its bits, less emax
  ceil_log,            ///< ceil(log2(amax / max)), with the logarithm rounded to float
  floor_log,           ///< floor(log2(amax)), with the logarithm rounded to float, less emax
  ceil,                ///< ceil(log2(amax * (1 / max))), exactly
  quotient,            ///< amax / max; for 0 the distance from 1 to the next number
  reciprocal,          ///< 1 / (max / amax), with an amax of at least 1e-12
};

namespace detail {

inline constexpr float largest_float = 0x1.fffffep127f;

/// The type of a package's tensor, in which compressed-tensors computes: it rounds each result to
/// that type.
enum class computed_in : std::uint8_t { float32, bfloat16, float16 };

/// The scale of a block whose largest magnitude is infinite.
enum class infinite_scale : std::uint8_t {
  is_rounded,      ///< the largest code, or what the exponent gives
  is_nan,          ///< NaN
  is_nan_rounded,  ///< NaN, also if `carry` makes an infinity
  is_zero,         ///< the code 0, and every element becomes 0
  is_one_rounded,  ///< the code of 1, and every element becomes 0, also if `carry` makes an infinity
};

/// The part of a recipe that fixes scales. The numbers after `rule` are for powers of two.
struct power_rule {
  block_rule rule;
  std::uint32_t carry = 0;  ///< is added to the bits of amax
  infinite_scale infinite = infinite_scale::is_rounded;
  std::uint32_t least = 0;   ///< elements get the factor of this code where it is larger
  bool zero_is_one = false;  ///< elements get the factor 1 for the code 0
  bool is_value = false;     ///< elements get the scale itself, not its reciprocal
  computed_in type = computed_in::float32;
};

/// Returns true if scales depend on the tensor's largest magnitude.
LOWP_FN constexpr bool needs_tensor(block_rule r) {
  using enum block_rule;
  return r == te || r == torchao_two_level || r == compressed_tensors || r == modelopt ||
         r == upward;
}

/// The numbers of a tensor that its blocks' scales need.
struct tensor_scales {
  float encode = 1, decode = 1;  ///< S, and what a decoded scale is multiplied by
  float of_amax = 1;             ///< what amax is multiplied or divided by
  float value = 1;               ///< the tensor's scale
};

LOWP_EXACT_BEGIN

/// Returns x, rounded to the type in which a package computes.
template <class F>
LOWP_FN F rounded_as(computed_in type, F const& x) {
  return type == computed_in::float32    ? x
         : type == computed_in::bfloat16 ? rounded_to<bfloat16>(x)
                                         : rounded_to<float16>(x);
}

inline namespace LOWP_UNIT {

LOWP_OPAQUE_FN tensor_scales tensor_scales_of(power_rule const& of, float amax, float most) {
  using namespace lanes;
  tensor_scales t;
  constexpr float nan = from_bits<float>(binary32_nan);
  if (needs_tensor(of.rule) && lanes::is_nan(amax)) return {nan, nan, nan, nan};
  switch (of.rule) {
    case block_rule::te:
      t.encode = div(most * 6, amax);
      if (!(lanes::magnitude(t.encode) < binary32_infinity)) t.encode = largest_float;
      if (lanes::magnitude(t.encode) == 0) t.encode = 1;
      t.decode = div(1.0f, t.encode);
      t.of_amax = mul(t.encode, div(1.0f, 6.0f));
      break;
    case block_rule::torchao_two_level:
    case block_rule::modelopt:
      t.decode = div(amax, 2688.0f);
      t.encode = div(1.0f, t.decode);
      t.of_amax = of.rule == block_rule::modelopt ? mul(6.0f, t.decode) : t.decode;
      break;
    case block_rule::compressed_tensors: {
      float const inverse = div(1.0f, lanes::magnitude(amax) < 0x00800000 ? 0x1p-126f : amax);
      t.encode = rounded_as(of.type, mul(2688.0f, rounded_as(of.type, inverse)));
      if (lanes::magnitude(t.encode) >= binary32_infinity) t.encode = 1;
      return {t.encode, t.encode, 1, div(1.0f, t.encode)};
    }
    case block_rule::upward: {
      // A power of two, so that its products with scales are exact and normal.
      std::uint32_t const power = (bits(div(amax, 2688.0f)) + 0x7fffff) & binary32_infinity;
      constexpr std::uint32_t least = (127u - 117) << 23, most_power = (127u + 116) << 23;
      t.decode = from_bits<float>(min(max(power, least), most_power));
      t.of_amax = mul(6.0f, t.decode);
      break;
    }
    default:
      break;
  }
  t.value = t.decode;
  return t;
}

}  // namespace LOWP_UNIT

/// Rounds a positive number to nearest even or upward, to its code and its value; NaN stays NaN. A
/// scalar needs the default environment, as in all of these rules.
template <class Scale = float8_e4m3fn, class F, class R = nearest_even>
LOWP_FN block_scale_of<F> rounded_scale(F const& x, R const& = {}) {
  using namespace lanes;
  using U = word<F>;
  constexpr format f = Scale::descriptor;
  U const a = min(bits(x), broadcast<U>(detail::decode<f>(f.max_code())));
  U const addend = addend_of_step<f>(a);
  F const from = from_bits<F>(addend);
  U sum = bits(add(from_bits<F>(a), from));
  if constexpr (std::is_same_v<R, lowp::upward>)
    sum = sum +
          select(greater(a, bits(sub(from_bits<F>(sum), from))), broadcast<U>(1), broadcast<U>(0));
  auto const is_nan = lanes::is_nan(x);
  U const code = (sum + (addend >> (23 - f.significand_bits))) & f.magnitude_mask();
  return {select(is_nan, broadcast<U>(f.nan_code()), code),
          select(is_nan, from_bits<F>(broadcast<U>(binary32_nan)), sub(from_bits<F>(sum), from))};
}

/// Returns 1 / (scale * decode), at most the largest float.
template <class F>
LOWP_FN F encode_factor(F const& scale, F const& decode) {
  using namespace lanes;
  F const factor = div(broadcast<F>(1), mul(scale, decode));
  auto const is_infinite = equal(bits(factor), broadcast<word<F>>(binary32_infinity));
  return select(is_infinite, broadcast<F>(largest_float), factor);
}

/// Returns the code that ggml_fp32_to_ue4m3 returns (ggml-impl.h); NaN for NaN.
template <class F>
LOWP_FN lanes::word<F> ggml_code(F const& x) {
  using namespace lanes;
  using U = word<F>;
  U const b = bits(x);
  U const normal = ((b + 0x80000) >> 20) - (120u << 3);
  U const capped =
      select(greater(b, broadcast<U>((134u << 23) + 0x77ffff)), broadcast<U>(0x7e), normal);
  // A sum below 8: its integer part is exact. The least normal number is 2^-6.
  F const steps = add(mul(x, broadcast<F>(512)), broadcast<F>(0.5f));
  auto const is_small = greater(broadcast<U>(121u << 23), b);
  U const few = min(to_word(select(is_small, steps, broadcast<F>(0))), broadcast<U>(7));
  U const nan = broadcast<U>(float8_e4m3fn::descriptor.nan_code());
  return select(lanes::is_nan(x), nan, select(is_small, few, capped));
}

/// Returns a block's scale, for elements of the type T. Rules of other scales are in
/// block_scales.hpp.
template <class T, one_of<float8_e4m3fn, float8_ue5m3> Scale, class F>
LOWP_FN block_scale_of<F> scale_by(power_rule const& of, tensor_scales const& t, F const& amax) {
  using namespace lanes;
  using U = word<F>;
  F const one = broadcast<F>(1), decode = broadcast<F>(t.decode);
  auto const at_least = [](F const& x, float y) {  // keeps NaN
    return from_bits<F>(max(lanes::magnitude(x), broadcast<U>(lanes::bits(y))));
  };
  switch (of.rule) {
    case block_rule::te: {
      auto const [code, value] = rounded_scale(mul(amax, broadcast<F>(t.of_amax)));
      return {code, encode_factor(value, decode)};
    }
    case block_rule::torchao_two_level:
    case block_rule::torchao_one_level: {  // the numbers of its tensor are 1
      F const s = div(div(amax, broadcast<F>(6)), broadcast<F>(t.of_amax));
      auto const [code, value] = rounded_scale(at_least(s, 0x1p-6f));
      return {code, div(broadcast<F>(t.encode), value)};
    }
    case block_rule::compressed_tensors: {
      F const sixth = rounded_as(of.type, div(amax, broadcast<F>(6)));
      auto const [code, value] = rounded_scale(mul(broadcast<F>(t.encode), sixth));
      auto const is_zero = equal(code, broadcast<U>(0));
      return {select(is_zero, broadcast<U>(0x20), code),
              div(select(is_zero, broadcast<F>(0.125f), value), decode)};
    }
    case block_rule::modelopt: {
      F const s = div(amax, broadcast<F>(t.of_amax));
      auto const [code, value] =
          rounded_scale(select(lanes::is_zero(s), one, at_least(s, 0x1p-9f)));
      return {code, mul(value, decode)};
    }
    case block_rule::ggml: {
      U const code = ggml_code(div(amax, broadcast<F>(6)));
      return {code, from_bits<F>(detail::decode<float8_e4m3fn::descriptor>(code))};
    }
    case block_rule::sixth:
      return rounded_scale<float8_ue5m3>(at_least(div(amax, broadcast<F>(6)), 0x1p-17f));
    default: {
      auto const [code, value] = rounded_scale(div(amax, broadcast<F>(t.of_amax)), lowp::upward{});
      // A block of zeros has the scale 0.
      return {code, select(lanes::is_zero(amax), one, mul(value, decode))};
    }
  }
}

LOWP_EXACT_END

}  // namespace detail

}  // namespace lowp
