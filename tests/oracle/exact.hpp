// SPDX-License-Identifier: Apache-2.0
// An exact real number, made from a built-in number or a code of a format.
#pragma once

#include <bit>
#include <cfloat>
#include <concepts>
#include <cstdint>
#include <cstring>

#include "facts.hpp"

namespace oracle {

__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 i128;

enum class kind { zero, finite, infinity, nan };

// A finite number has the magnitude (significand + rest) * 2^exponent. The rest is zero or, if
// `sticky`, somewhere strictly between 0 and 1. Conversions never set `sticky`; quotients, roots
// and far sums do, and then keep at least 63 significant bits above it.
struct number {
  kind what = kind::zero;
  bool negative = false;
  u128 significand = 0;
  int exponent = 0;
  bool sticky = false;
  std::uint64_t payload = 0;  // of a NaN: its fraction, quiet bit first, aligned to bit 63
};

inline constexpr std::uint64_t quiet_payload = std::uint64_t{1} << 63;

constexpr int bit_length(u128 x) {
  auto const high = static_cast<std::uint64_t>(x >> 64);
  return high != 0 ? 128 - std::countl_zero(high)
                   : 64 - std::countl_zero(static_cast<std::uint64_t>(x));
}

constexpr number make_zero(bool negative) { return {.what = kind::zero, .negative = negative}; }
constexpr number make_infinity(bool negative) {
  return {.what = kind::infinity, .negative = negative};
}
constexpr number make_nan(bool negative = false, std::uint64_t payload = quiet_payload) {
  return {.what = kind::nan, .negative = negative, .payload = payload};
}
constexpr number make_finite(bool negative, u128 significand, int exponent, bool sticky = false) {
  if (significand == 0 && !sticky) return make_zero(negative);
  return {.what = kind::finite,
          .negative = negative,
          .significand = significand,
          .exponent = exponent,
          .sticky = sticky};
}

// The value of a magnitude code. Codes past the largest finite one continue the grid, as if the
// exponent field had no upper end.
constexpr number magnitude_value(facts const& f, std::uint64_t code) {
  std::uint64_t const one = std::uint64_t{1} << f.significand_bits;
  std::uint64_t const fraction = code & (one - 1);
  int const field = static_cast<int>(code >> f.significand_bits);
  if (field == 0 && f.has_zero())
    return make_finite(false, fraction, f.min_exponent() - f.significand_bits);
  return make_finite(false, one + fraction, field - f.bias - f.significand_bits);
}

// Bits of `code` above the width of the format are ignored.
constexpr number decode(facts const& f, std::uint64_t code) {
  bool const negative = (code & f.sign_mask()) != 0;
  std::uint64_t const magnitude = code & f.magnitude_mask();
  switch (f.nans) {
    case nan_rule::none:
      break;
    case nan_rule::all_ones:
    case nan_rule::unsigned_all_ones:
    case nan_rule::unsigned_p3109:
      if (magnitude == f.magnitude_mask()) return make_nan(negative);
      break;
    case nan_rule::negative_zero:
      if (negative && magnitude == 0) return make_nan();
      break;
    case nan_rule::ieee:
      if (magnitude > f.max_code() + 1) {
        return make_nan(negative, magnitude << (64 - f.significand_bits));
      }
      break;
  }
  if (f.has_infinity && magnitude == f.max_code() + 1) return make_infinity(negative);
  number x = magnitude_value(f, magnitude);
  x.negative = negative;
  return x;
}

constexpr number from_float_bits(std::uint32_t bits) { return decode(binary32, bits); }
constexpr number from_double_bits(std::uint64_t bits) { return decode(binary64, bits); }

// Takes exactly these types, so that nothing is converted before.
template <std::same_as<float> T>
constexpr number from(T x) {
  return from_float_bits(std::bit_cast<std::uint32_t>(x));
}
template <std::same_as<double> T>
constexpr number from(T x) {
  return from_double_bits(std::bit_cast<std::uint64_t>(x));
}

#if LDBL_MANT_DIG == 64  // the x87 format, with an explicit leading one
template <std::same_as<long double> T>
number from(T x) {
  std::uint64_t significand = 0;
  std::uint16_t head = 0;
  std::memcpy(&significand, &x, 8);
  std::memcpy(&head, reinterpret_cast<unsigned char const*>(&x) + 8, 2);
  bool const negative = (head & 0x8000) != 0;
  int const field = head & 0x7fff;
  if (field == 0x7fff) {
    std::uint64_t const fraction = significand << 1;
    return fraction == 0 ? make_infinity(negative) : make_nan(negative, fraction);
  }
  return make_finite(negative, significand, (field == 0 ? 1 : field) - 16383 - 63);
}
#elif LDBL_MANT_DIG == 113  // IEEE's binary128
template <std::same_as<long double> T>
number from(T x) {
  u128 const bits = std::bit_cast<u128>(x), one = u128{1} << 112, fraction = bits & (one - 1);
  bool const negative = bits >> 127 != 0;
  int const field = static_cast<int>(bits >> 112) & 0x7fff;
  if (field == 0x7fff) {
    return fraction == 0 ? make_infinity(negative)
                         : make_nan(negative, static_cast<std::uint64_t>(fraction >> 48));
  }
  return make_finite(negative, field == 0 ? fraction : one + fraction,
                     (field == 0 ? 1 : field) - 16383 - 112);
}
#endif

// Every integer type up to 128 bits. std::integral leaves out __int128 in strict modes.
template <class T>
  requires(std::integral<T> || std::same_as<T, i128> || std::same_as<T, u128>)
constexpr number from(T x) {
  bool const negative = x < T{0};
  u128 const magnitude = negative ? u128{0} - static_cast<u128>(x) : static_cast<u128>(x);
  return make_finite(negative, magnitude, 0);
}

}  // namespace oracle
