// SPDX-License-Identifier: Apache-2.0
// The facts of each format, typed by hand from its publisher: IEEE 754-2019 (binary16, 32, 64), and
// the OCP 8-bit floating point and Microscaling specifications. The rest is from the documentation
// of ml_dtypes. Formats of the IEEE P3109 draft are from section 4.7.2 of its report 4.0. Extremes
// are typed too, although they follow from the widths: a test compares the derived ones with the
// published ones.
#pragma once

#include <array>
#include <cstdint>

namespace oracle {

enum class nan_rule {
  none,               // every code is a number
  ieee,               // all-ones exponent with a non-zero fraction; fraction zero is infinity
  all_ones,           // exponent and fraction all ones, one NaN per sign
  negative_zero,      // the code that would be negative zero is the only NaN
  unsigned_all_ones,  // no sign bit, all ones is the only NaN; no zero
  unsigned_p3109,     // the same with a zero, as in CUDA too
};

struct facts {
  char const* name;
  int exponent_bits;
  int significand_bits;  // stored ones: without the implied leading one
  int bias;
  bool has_infinity;
  nan_rule nans;
  bool is_signed;
  double max_finite;
  double min_normal;
  double min_subnormal;  // the smallest positive value

  [[nodiscard]] constexpr int magnitude_bits() const { return exponent_bits + significand_bits; }
  [[nodiscard]] constexpr int bits() const { return magnitude_bits() + (is_signed ? 1 : 0); }
  [[nodiscard]] constexpr bool has_zero() const { return nans != nan_rule::unsigned_all_ones; }
  [[nodiscard]] constexpr bool has_nan() const { return nans != nan_rule::none; }
  [[nodiscard]] constexpr bool has_negative_zero() const {
    return is_signed && nans != nan_rule::negative_zero;
  }
  // The formats of P3109 with infinity have it at the last magnitude that is not NaN.
  [[nodiscard]] constexpr int min_exponent() const { return has_zero() ? 1 - bias : -bias; }
  [[nodiscard]] constexpr std::uint64_t magnitude_mask() const {
    return (std::uint64_t{1} << magnitude_bits()) - 1;
  }
  [[nodiscard]] constexpr std::uint64_t sign_mask() const {
    return is_signed ? std::uint64_t{1} << magnitude_bits() : 0;
  }
  [[nodiscard]] constexpr std::uint64_t max_code() const {  // of the largest finite value
    switch (nans) {
      case nan_rule::none:
      case nan_rule::negative_zero:
        return magnitude_mask() - (has_infinity ? 1 : 0);
      case nan_rule::all_ones:
      case nan_rule::unsigned_all_ones:
      case nan_rule::unsigned_p3109:
        return magnitude_mask() - (has_infinity ? 2 : 1);
      case nan_rule::ieee:
        break;
    }
    return magnitude_mask() - (std::uint64_t{1} << significand_bits);
  }
};

// clang-format off
// The formats of the library: widths of exponent and fraction, bias, infinity, NaN, sign; then the
// extremes, largest first. The tests make their lists of types from this one.
#define ORACLE_FORMATS(FORMAT) \
  FORMAT(float16,           5, 10, 15,  true,  nan_rule::ieee,              true,  65504.0,    0x1p-14,  0x1p-24) \
  FORMAT(bfloat16,          8, 7,  127, true,  nan_rule::ieee,              true,  0x1.fep127, 0x1p-126, 0x1p-133) \
  FORMAT(float8_e5m2,       5, 2,  15,  true,  nan_rule::ieee,              true,  57344.0,    0x1p-14,  0x1p-16) \
  FORMAT(float8_e4m3fn,     4, 3,  7,   false, nan_rule::all_ones,          true,  448.0,      0x1p-6,   0x1p-9) \
  FORMAT(float8_e4m3,       4, 3,  7,   true,  nan_rule::ieee,              true,  240.0,      0x1p-6,   0x1p-9) \
  FORMAT(float8_e3m4,       3, 4,  3,   true,  nan_rule::ieee,              true,  15.5,       0.25,     0x1p-6) \
  FORMAT(float8_e4m3fnuz,   4, 3,  8,   false, nan_rule::negative_zero,     true,  240.0,      0x1p-7,   0x1p-10) \
  FORMAT(float8_e5m2fnuz,   5, 2,  16,  false, nan_rule::negative_zero,     true,  57344.0,    0x1p-15,  0x1p-17) \
  FORMAT(float8_e4m3b11fnuz,4, 3,  11,  false, nan_rule::negative_zero,     true,  30.0,       0x1p-10,  0x1p-13) \
  FORMAT(float8_e8m0fnu,    8, 0,  127, false, nan_rule::unsigned_all_ones, false, 0x1p127,    0x1p-127, 0x1p-127) \
  FORMAT(float8_ue5m3,      5, 3,  15,  false, nan_rule::unsigned_p3109,    false, 114688.0,   0x1p-14,  0x1p-17) \
  FORMAT(float6_e2m3fn,     2, 3,  1,   false, nan_rule::none,              true,  7.5,        1.0,      0.125) \
  FORMAT(float6_e3m2fn,     3, 2,  3,   false, nan_rule::none,              true,  28.0,       0.25,     0.0625) \
  FORMAT(float4_e2m1fn,     2, 1,  1,   false, nan_rule::none,              true,  6.0,        1.0,      0.5)

#define ORACLE_FACTS(name, ...) inline constexpr facts name{#name, __VA_ARGS__};
ORACLE_FORMATS(ORACLE_FACTS)
#undef ORACLE_FACTS

inline constexpr facts binary32{"binary32",
    8, 23, 127, true, nan_rule::ieee, true, 0x1.fffffep127, 0x1p-126, 0x1p-149};
inline constexpr facts binary64{"binary64",
    11, 52, 1023, true, nan_rule::ieee, true, 0x1.fffffffffffffp1023, 0x1p-1022, 0x1p-1074};
// clang-format on

#define ORACLE_NAME(name, ...) name,
inline constexpr std::array all{ORACLE_FORMATS(ORACLE_NAME)};
#undef ORACLE_NAME

}  // namespace oracle
