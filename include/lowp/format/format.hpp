// SPDX-License-Identifier: Apache-2.0
// A number format as data: the meaning of its bits. All its other properties are derived here. The
// catalogue of formats is at the end.
#pragma once

#include <lowp/base/config.hpp>

namespace lowp {

/// The codes that are not numbers.
enum class specials : std::uint8_t {
  ieee,               ///< exponent all ones: infinity if the significand is zero, else NaN
  nan_all_ones,       ///< one NaN per sign, all bits below the sign set ("fn"); no infinity
  nan_negative_zero,  ///< one NaN, the code that would be -0 ("fnuz"), or all ones in a format
                      ///< without sign; no infinity, no -0
  none,               ///< every code is a number (OCP MX fp6 and fp4)
  p3109_extended,     ///< nan_negative_zero, with infinity at the last magnitude that is not NaN
};

/// The reason why the library cannot compute with a format.
enum class format_error : std::uint8_t {
  none,
  no_exponent_bits,
  negative_significand_bits,
  more_than_16_bits,
  more_than_13_significand_bits,
  signed_without_significand_bits,
  no_significand_bits_and_not_nan_all_ones,
  unsigned_with_significand_bits,
  no_value_above_zero,
  smallest_value_below_floats,
  largest_value_above_floats,
};

/// A binary format of at most 16 bits:
///
///     | sign (0 or 1) | exponent_bits | significand_bits |
///
/// With E the exponent field and m the significand field,
/// value = (-1)^sign * 2^(max(E, 1) - bias) * ((E > 0 ? 1 : 0) + m / 2^significand_bits).
/// Without significand bits and with nan_all_ones there is no zero, and value = 2^(E - bias).
struct format {
  int exponent_bits;
  int significand_bits;
  int bias;
  specials special_values = specials::ieee;
  bool has_sign = true;

  LOWP_HOST_FN constexpr bool operator==(format const&) const = default;

  LOWP_FN constexpr int magnitude_bits() const { return exponent_bits + significand_bits; }
  LOWP_FN constexpr int bits() const { return magnitude_bits() + (has_sign ? 1 : 0); }
  LOWP_FN constexpr int precision() const { return significand_bits + 1; }
  LOWP_FN constexpr bool has_infinity() const {
    return special_values == specials::ieee || special_values == specials::p3109_extended;
  }
  LOWP_FN constexpr bool has_nan() const { return special_values != specials::none; }
  LOWP_FN constexpr bool has_zero() const { return significand_bits > 0 || has_one_nan(); }
  LOWP_FN constexpr bool has_negative_zero() const {
    return has_sign && has_zero() && !has_one_nan();
  }
  /// Returns true if one code is NaN, and one is zero: the code that would be -0 is NaN.
  LOWP_FN constexpr bool has_one_nan() const {
    return special_values == specials::nan_negative_zero ||
           special_values == specials::p3109_extended;
  }
  /// Returns true if zero is the least value, and what rounds to less is out of range.
  LOWP_FN constexpr bool starts_at_zero() const { return has_zero() && !has_sign; }
  /// Returns true if all bits below the sign are set in a NaN.
  LOWP_FN constexpr bool has_nan_at_top() const {
    return special_values == specials::nan_all_ones || (has_one_nan() && !has_sign);
  }

  LOWP_FN constexpr std::uint32_t significand_mask() const { return (1u << significand_bits) - 1; }
  LOWP_FN constexpr std::uint32_t magnitude_mask() const { return (1u << magnitude_bits()) - 1; }
  LOWP_FN constexpr std::uint32_t code_mask() const { return (1u << bits()) - 1; }
  LOWP_FN constexpr std::uint32_t sign_mask() const { return code_mask() - magnitude_mask(); }

  /// Returns the code of infinity, or the code that an IEEE format of this shape would use.
  LOWP_FN constexpr std::uint32_t infinity_code() const {
    return magnitude_mask() - (special_values != specials::p3109_extended ? significand_mask()
                               : has_nan_at_top()                         ? 1
                                                                          : 0);
  }
  LOWP_FN constexpr std::uint32_t max_code() const {
    return has_infinity() ? infinity_code() - 1 : magnitude_mask() - (has_nan_at_top() ? 1 : 0);
  }
  LOWP_FN constexpr std::uint32_t min_normal_code() const {
    return has_zero() ? 1u << significand_bits : 0;
  }
  /// Returns the code of the quiet NaN with a clear sign and no payload. If the format has no NaN,
  /// returns that of negative zero.
  LOWP_FN constexpr std::uint32_t nan_code() const {
    return special_values == specials::ieee ? infinity_code() | (significand_mask() + 1) >> 1
           : has_nan_at_top()               ? magnitude_mask()
                                            : sign_mask();
  }

  /// The exponents of the smallest normal and of the largest finite value.
  LOWP_FN constexpr int min_exponent() const { return (has_zero() ? 1 : 0) - bias; }
  LOWP_FN constexpr int max_exponent() const {
    return static_cast<int>(max_code() >> significand_bits) - bias;
  }

  /// Returns true if the exponent field is binary32's, so that widening to float is a shift.
  LOWP_FN constexpr bool is_truncated_binary32() const {
    return exponent_bits == 8 && bias == 127 && special_values == specials::ieee && has_sign;
  }

  /// Returns what is wrong with the format. It has to fit 16 bits and to have a place for NaN. Its
  /// every value has to be a float.
  LOWP_FN constexpr format_error error() const {
    if (exponent_bits < 1) return format_error::no_exponent_bits;
    if (significand_bits < 0) return format_error::negative_significand_bits;
    if (exponent_bits > 16 || significand_bits > 16 || bits() > 16)
      return format_error::more_than_16_bits;
    if (precision() > 14) return format_error::more_than_13_significand_bits;
    if (!has_zero() && has_sign) return format_error::signed_without_significand_bits;
    if (!has_zero() && special_values != specials::nan_all_ones)
      return format_error::no_significand_bits_and_not_nan_all_ones;
    if (has_zero() && !has_sign && !has_one_nan())
      return format_error::unsigned_with_significand_bits;
    if (has_zero() && max_code() == 0) return format_error::no_value_above_zero;
    if (bias < -127) return format_error::largest_value_above_floats;  // before it overflows below
    bool const has_subnormals = significand_bits > 0;
    int const least = has_subnormals && !is_truncated_binary32() ? significand_bits - 126 : -127;
    if (min_exponent() < least) return format_error::smallest_value_below_floats;
    if (max_exponent() > 127) return format_error::largest_value_above_floats;
    return format_error::none;
  }
  LOWP_FN constexpr bool is_valid() const { return error() == format_error::none; }
};

/// A format that the library computes with: format::error() returns none. Types are compared,
/// because compilers name those of a constraint that is not satisfied.
template <format F>
concept valid_format = std::same_as<std::integral_constant<format_error, F.error()>,
                                    std::integral_constant<format_error, format_error::none>>;

template <format F, bool IsImplicit = false>
  requires valid_format<F>
class basic_float;

// The catalogue. Names as in ml_dtypes, ONNX and safetensors: fn = finite (no infinity), uz = no
// negative zero, fnu = finite and unsigned.
//
//     float16                             IEEE 754-2019 binary16
//     bfloat16                            binary32 without its low half
//     float8_e5m2, float8_e4m3fn          OCP OFP8
//     float8_e4m3, float8_e3m4            IEEE 754 conventions
//     float8_e4m3fnuz, float8_e5m2fnuz    arXiv:2206.02915; they implement Binary8p4sf and
//                                         Binary8p3sf of the IEEE P3109 draft, report 4.0
//     float8_e4m3b11fnuz                  ml_dtypes
//     float8_e8m0fnu                      OCP MX scale
//     float8_ue5m3                        CUDA 13.4; a scale of four bits
//     float6_..., float4_...              OCP MX
//
// clang-format off
//                                       exponent, significand, bias
using float16            = basic_float<format{5, 10,  15}>;
using bfloat16           = basic_float<format{8,  7, 127}>;
using float8_e5m2        = basic_float<format{5,  2,  15}>;
using float8_e4m3        = basic_float<format{4,  3,   7}>;
using float8_e3m4        = basic_float<format{3,  4,   3}>;
using float8_e4m3fn      = basic_float<format{4,  3,   7, specials::nan_all_ones}>;
using float8_e4m3fnuz    = basic_float<format{4,  3,   8, specials::nan_negative_zero}>;
using float8_e5m2fnuz    = basic_float<format{5,  2,  16, specials::nan_negative_zero}>;
using float8_e4m3b11fnuz = basic_float<format{4,  3,  11, specials::nan_negative_zero}>;
using float8_e8m0fnu     = basic_float<format{8,  0, 127, specials::nan_all_ones, false}>;
using float8_ue5m3       = basic_float<format{5,  3,  15, specials::nan_negative_zero, false}>;
using float6_e2m3fn      = basic_float<format{2,  3,   1, specials::none}>;
using float6_e3m2fn      = basic_float<format{3,  2,   3, specials::none}>;
using float4_e2m1fn      = basic_float<format{2,  1,   1, specials::none}>;
// clang-format on

}  // namespace lowp
