// SPDX-License-Identifier: Apache-2.0
// A number format as data: the meaning of its bits. All its other properties are derived here.
#pragma once

#include <lowp/base/config.hpp>

#include <cstdint>

namespace lowp {

/// The codes that are not numbers.
enum class specials : std::uint8_t {
  ieee,               ///< exponent all ones: infinity if the significand is zero, else NaN
  nan_all_ones,       ///< one NaN per sign, all bits below the sign set ("fn"); no infinity
  nan_negative_zero,  ///< one NaN, the code that would be -0 ("fnuz"); no infinity, no -0
  none,               ///< every code is a number (OCP MX fp6 and fp4)
};

/// A binary format of at most 16 bits:
///
///     | sign (0 or 1) | exponent_bits | significand_bits |
///
/// With E the exponent field and m the significand field,
/// value = (-1)^sign * 2^(max(E, 1) - bias) * ((E > 0 ? 1 : 0) + m / 2^significand_bits).
/// Without significand bits there is neither zero nor subnormal: value = 2^(E - bias).
struct format {
  int exponent_bits;
  int significand_bits;
  int bias;
  specials codes = specials::ieee;
  bool has_sign = true;

  LOWP_HOST_FN constexpr bool operator==(format const&) const = default;

  LOWP_FN constexpr int magnitude_bits() const { return exponent_bits + significand_bits; }
  LOWP_FN constexpr int bits() const { return magnitude_bits() + (has_sign ? 1 : 0); }
  LOWP_FN constexpr int precision() const { return significand_bits + 1; }
  LOWP_FN constexpr bool has_infinity() const { return codes == specials::ieee; }
  LOWP_FN constexpr bool has_nan() const { return codes != specials::none; }
  LOWP_FN constexpr bool has_zero() const { return significand_bits > 0; }
  LOWP_FN constexpr bool has_negative_zero() const {
    return has_sign && has_zero() && codes != specials::nan_negative_zero;
  }

  LOWP_FN constexpr std::uint32_t significand_mask() const { return (1u << significand_bits) - 1; }
  LOWP_FN constexpr std::uint32_t magnitude_mask() const { return (1u << magnitude_bits()) - 1; }
  LOWP_FN constexpr std::uint32_t code_mask() const { return (1u << bits()) - 1; }
  LOWP_FN constexpr std::uint32_t sign_mask() const { return code_mask() - magnitude_mask(); }

  /// Returns the code of infinity, or the code that an IEEE format of this shape would use.
  LOWP_FN constexpr std::uint32_t infinity_code() const {
    return magnitude_mask() - significand_mask();
  }
  /// Returns the code of the largest finite value.
  LOWP_FN constexpr std::uint32_t max_code() const {
    return codes == specials::ieee           ? infinity_code() - 1
           : codes == specials::nan_all_ones ? magnitude_mask() - 1
                                             : magnitude_mask();
  }
  /// Returns the code of the smallest normal value.
  LOWP_FN constexpr std::uint32_t min_normal_code() const {
    return has_zero() ? 1u << significand_bits : 0;
  }
  /// Returns the code of the quiet NaN with a clear sign and no payload. If the format has no NaN,
  /// returns that of negative zero.
  LOWP_FN constexpr std::uint32_t nan_code() const {
    return codes == specials::ieee           ? infinity_code() | (significand_mask() + 1) >> 1
           : codes == specials::nan_all_ones ? magnitude_mask()
                                             : sign_mask();
  }

  /// The exponents of the smallest normal and of the largest finite value.
  LOWP_FN constexpr int min_exponent() const { return (has_zero() ? 1 : 0) - bias; }
  LOWP_FN constexpr int max_exponent() const {
    return static_cast<int>(max_code() >> significand_bits) - bias;
  }

  /// Returns true if the exponent field is binary32's, so that widening to float is a shift.
  LOWP_FN constexpr bool is_truncated_binary32() const {
    return exponent_bits == 8 && bias == 127 && codes == specials::ieee && has_sign;
  }

  /// Returns true if the format fits 16 bits, has a place for NaN, and its every value is a float.
  LOWP_FN constexpr bool is_valid() const {
    if (exponent_bits < 1 || significand_bits < 0 || bits() > 16 || precision() > 14) return false;
    if (!has_zero()) return !has_sign && codes == specials::nan_all_ones && min_exponent() >= -127;
    bool const in_range = is_truncated_binary32() || min_exponent() - significand_bits >= -126;
    return has_sign && in_range && max_exponent() <= 127;
  }
};

/// The catalogue. Names as in ml_dtypes, ONNX and safetensors: fn = finite (no infinity),
/// uz = no negative zero, fnu = finite and unsigned.
///
///     float16                             IEEE 754-2019 binary16
///     bfloat16                            binary32 without its low half
///     float8_e5m2, float8_e4m3fn          OCP OFP8
///     float8_e4m3, float8_e3m4            IEEE 754 conventions
///     float8_e4m3fnuz, float8_e5m2fnuz    arXiv:2206.02915
///     float8_e4m3b11fnuz                  ml_dtypes
///     float8_e8m0fnu                      OCP MX scale
///     float6_..., float4_...              OCP MX
namespace formats {
// clang-format off
//                                          exponent significand bias
inline constexpr format float16           {        5,        10,   15};
inline constexpr format bfloat16          {        8,         7,  127};
inline constexpr format float8_e5m2       {        5,         2,   15};
inline constexpr format float8_e4m3       {        4,         3,    7};
inline constexpr format float8_e3m4       {        3,         4,    3};
inline constexpr format float8_e4m3fn     {        4,         3,    7, specials::nan_all_ones};
inline constexpr format float8_e4m3fnuz   {        4,         3,    8, specials::nan_negative_zero};
inline constexpr format float8_e5m2fnuz   {        5,         2,   16, specials::nan_negative_zero};
inline constexpr format float8_e4m3b11fnuz{        4,         3,   11, specials::nan_negative_zero};
inline constexpr format float8_e8m0fnu    {        8,         0,  127, specials::nan_all_ones, false};
inline constexpr format float6_e2m3fn     {        2,         3,    1, specials::none};
inline constexpr format float6_e3m2fn     {        3,         2,    3, specials::none};
inline constexpr format float4_e2m1fn     {        2,         1,    1, specials::none};
// clang-format on
}  // namespace formats

}  // namespace lowp
