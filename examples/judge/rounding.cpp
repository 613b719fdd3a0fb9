// SPDX-License-Identifier: Apache-2.0
#include "rounding.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>

namespace judge {

std::string_view name_of(mode m) {
  constexpr std::string_view names[]{
      "nearest_even", "nearest_away", "toward_zero (truncation)", "upward",
      "downward",     "to_odd",       "nearest, ties upward",     "nearest, ties toward zero"};
  return names[static_cast<std::size_t>(m)];
}

exact decode(number_type const& t, std::uint64_t code) {
  lowp::format const& f = t.format;
  bool const is_negative = (code & t.sign_mask()) != 0;
  std::uint64_t const m = code & t.magnitude_mask();
  std::uint64_t const one = std::uint64_t{1} << f.significand_bits;
  using enum lowp::specials;
  if (f.special_values == ieee && m >= t.infinity_code()) {
    if (m == t.infinity_code()) return {kind::infinity, is_negative};
    return {kind::nan, is_negative, 0, 0, (m - t.infinity_code()) << (64 - f.significand_bits)};
  }
  bool const is_nan = f.has_nan_at_top() ? m == t.magnitude_mask()
                      : f.has_one_nan()  ? code == t.sign_mask()
                                         : false;
  if (is_nan) return {kind::nan, is_negative && !f.has_one_nan(), 0, 0, std::uint64_t{1} << 63};
  if (!f.has_zero()) return {kind::finite, false, 1, static_cast<int>(m) - f.bias};
  std::uint64_t const field = m >> f.significand_bits, rest = m & (one - 1);
  if (m == 0) return {kind::zero, is_negative};
  int const exponent = static_cast<int>(std::max<std::uint64_t>(field, 1)) - f.bias;
  return {kind::finite, is_negative, field == 0 ? rest : one + rest, exponent - f.significand_bits};
}

place locate(number_type const& t, exact const& x) {
  if (x.significand == 0) return {};
  lowp::format const& f = t.format;
  int const leading = static_cast<int>(std::bit_width(x.significand)) - 1 + x.exponent;
  int const least = (f.has_zero() ? 1 : 0) - f.bias;
  if (leading < least && !f.has_zero()) return {0, true};  // what is smaller becomes the smallest
  int const above = std::max(leading - least, 0);
  int const dropped = least + above - f.significand_bits - x.exponent;
  place at;
  if (dropped <= 0) {
    at.code = x.significand << -dropped;
  } else if (dropped < 64) {
    std::uint64_t const rest = x.significand & ((std::uint64_t{1} << dropped) - 1);
    std::uint64_t const half = std::uint64_t{1} << (dropped - 1);
    at.code = x.significand >> dropped;
    at.is_exact = rest == 0;
    at.versus_half = rest < half ? -1 : rest > half ? 1 : 0;
    at.part = dropped <= 32 ? rest << (32 - dropped) : rest >> (dropped - 32);
  } else {
    at.is_exact = false;
    if (dropped == 64) {
      std::uint64_t const half = std::uint64_t{1} << 63;
      at.versus_half = x.significand < half ? -1 : x.significand > half ? 1 : 0;
    }
    at.part = dropped < 96 ? x.significand >> (dropped - 32) : 0;
  }
  at.code += static_cast<std::uint64_t>(above) << f.significand_bits;
  if (!f.has_zero()) --at.code;
  return at;
}

bool moves_away(mode m, bool is_negative, place const& at) {
  if (at.is_exact) return false;
  bool const is_odd = at.code % 2 != 0;
  switch (m) {
    case mode::nearest_even:
      return at.versus_half > 0 || (at.versus_half == 0 && is_odd);
    case mode::nearest_away:
      return at.versus_half >= 0;
    case mode::toward_zero:
      return false;
    case mode::upward:
      return !is_negative;
    case mode::downward:
      return is_negative;
    case mode::to_odd:
      return !is_odd;
    case mode::ties_upward:
      return at.versus_half > 0 || (at.versus_half == 0 && !is_negative);
    case mode::ties_toward_zero:
      return at.versus_half > 0;
  }
  return false;
}

bool points_inward(mode m, bool is_negative, number_type const& t, std::uint64_t end) {
  bool const is_odd_beyond = end % 2 == 0 && (end == 0 || t.format.has_infinity());
  return m == mode::toward_zero || (m == mode::to_odd && !is_odd_beyond) ||
         (m == mode::upward && is_negative) || (m == mode::downward && !is_negative);
}

rounded round_to(number_type const& t, exact const& x, mode m) {
  using enum rounded::outcome;
  lowp::format const& f = t.format;
  if (!f.has_zero() && (x.is_negative || x.what == kind::zero)) return {below, 0, true};
  if (x.what == kind::infinity)
    return {f.starts_at_zero() && x.is_negative ? below : infinite, 0, x.is_negative};
  place const at = locate(t, x);
  std::uint64_t const code = at.code + (moves_away(m, x.is_negative, at) ? 1 : 0);
  if (!f.has_sign && x.is_negative)
    return {code == 0 || points_inward(m, true, t, 0) ? in_range : below, 0, true};
  std::uint64_t const sign = x.is_negative ? t.sign_mask() : 0;
  if (code > t.largest_code())
    return points_inward(m, x.is_negative, t, t.largest_code())
               ? rounded{in_range, sign | t.largest_code(), x.is_negative}
               : rounded{beyond, 0, x.is_negative};
  if (code == 0 && !f.has_negative_zero()) return {};
  return {in_range, sign | code, x.is_negative};
}

std::uint64_t finished(number_type const& t, rounded const& r, lowp::special_codes const& codes) {
  using enum rounded::outcome;
  if (r.what == in_range) return r.code;
  if (r.what == below) return t.format.has_zero() ? codes.below : codes.nan[0];
  std::uint64_t const end = r.what == beyond ? codes.overflowed : codes.infinite;
  bool const is_one_nan = t.format.has_one_nan() && end == codes.nan[0];
  return end | (r.is_negative && !is_one_nan ? t.sign_mask() : 0);
}

std::uint64_t code_of_nan(number_type const& t, exact const& x, lowp::special_codes const& codes) {
  std::uint64_t const kept = x.payload >> (64 - std::max(t.format.significand_bits, 1));
  return codes.nan[x.is_negative ? 1 : 0] | (kept & codes.nan_payload);
}

std::uint64_t converted(number_type const& t, exact const& x, mode m, lowp::overflow policy) {
  lowp::special_codes const codes = t.special(policy);
  return x.what == kind::nan ? code_of_nan(t, x, codes) : finished(t, round_to(t, x, m), codes);
}

double value_of(exact const& x) {
  double size = std::ldexp(static_cast<double>(x.significand), x.exponent);
  if (x.what == kind::infinity) size = std::numeric_limits<double>::infinity();
  if (x.what == kind::nan) size = std::numeric_limits<double>::quiet_NaN();
  return x.is_negative ? -size : size;
}
double value_of(number_type const& t, std::uint64_t code) { return value_of(decode(t, code)); }

std::string shown(number_type const& t, std::uint64_t code) {
  char text[64];
  std::snprintf(text, sizeof text, "%.17g", value_of(t, code));
  for (int digits = 1; digits < 17; ++digits) {
    char shorter[64];
    std::snprintf(shorter, sizeof shorter, "%.*g", digits, value_of(t, code));
    if (std::strtod(shorter, nullptr) == value_of(t, code)) return shorter;
  }
  return decode(t, code).what == kind::nan ? (text[0] == '-' ? "-NaN" : "NaN") : text;
}

}  // namespace judge
