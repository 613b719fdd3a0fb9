// SPDX-License-Identifier: Apache-2.0
// Encodes one exact number. It locates the number on the format's magnitude grid, and moves it to
// the neighbour away from zero or not. Only then it compares the result with the largest finite
// value.
#pragma once

#include <cassert>
#include <cstdint>

#include "exact.hpp"
#include "facts.hpp"

namespace oracle {

enum class mode { nearest_even, nearest_away, toward_zero, upward, downward, to_odd, stochastic };
enum class policy { infinity, saturate };

constexpr policy default_policy(facts const& f) {
  return f.has_infinity ? policy::infinity : policy::saturate;
}

// Magnitude codes are consecutive along the values, binade borders included. So the neighbour away
// from zero is always code + 1, and the parity of a code decides "even" and "odd". For a format
// with a fraction that is the parity of the significand; for powers of two it is A4b's.
struct position {
  std::uint64_t code = 0;  // of the neighbour toward zero
  bool exact = true;       // nothing lies between that neighbour and the number
  int versus_half = -1;    // sign of (distance from that neighbour - half a gap)
  std::uint32_t part = 0;  // that distance in 1/65536 of a gap, rounded half up: 0..65536
};

constexpr position locate(facts const& f, number const& x) {
  int const leading = bit_length(x.significand) - 1 + x.exponent;  // floor of the binary logarithm
  if (leading < f.min_exponent() && !f.has_zero()) return {};      // A4b: becomes the smallest
  bool const subnormal = leading < f.min_exponent();
  int const grid = (subnormal ? f.min_exponent() : leading) - f.significand_bits;
  int const dropped = grid - x.exponent;  // bits of the significand below the grid
  assert(!x.sticky || dropped >= 2);      // the deciding bits must lie above the unknown rest

  u128 kept = 0;
  u128 rest = 0;
  if (dropped <= 0) {
    kept = x.significand << -dropped;
  } else if (dropped >= 128) {
    rest = x.significand;
  } else {
    kept = x.significand >> dropped;
    rest = x.significand - (kept << dropped);
  }

  position at;
  at.code = static_cast<std::uint64_t>(kept);
  if (!subnormal) {  // the leading one is implied: an exponent field takes its place
    at.code -= std::uint64_t{1} << f.significand_bits;
    at.code += static_cast<std::uint64_t>(leading + f.bias) << f.significand_bits;
  }
  at.exact = rest == 0 && !x.sticky;
  if (dropped >= 1 && dropped <= 128) {
    u128 const half = u128{1} << (dropped - 1);
    at.versus_half = rest < half ? -1 : (rest > half || x.sticky) ? 1 : 0;
  }
  // floor(y + 1/2) = floor((floor(2 y) + 1) / 2), and doubling leaves only a shift of `rest`.
  u128 twice = 0;
  if (dropped > 0 && dropped <= 17) twice = rest << (17 - dropped);
  if (dropped > 17 && dropped < 17 + 128) twice = rest >> (dropped - 17);
  at.part = static_cast<std::uint32_t>((twice + 1) >> 1);
  return at;
}

constexpr bool moves_away(mode m, bool negative, position const& at, std::uint32_t r) {
  if (at.exact) return false;
  bool const odd = (at.code & 1) != 0;
  switch (m) {
    case mode::nearest_even:
      return at.versus_half > 0 || (at.versus_half == 0 && odd);
    case mode::nearest_away:
      return at.versus_half >= 0;
    case mode::toward_zero:
      return false;
    case mode::upward:
      return !negative;
    case mode::downward:
      return negative;
    case mode::to_odd:
      return !odd;
    case mode::stochastic:
      return at.part + r >= 65536;
  }
  return false;
}

// `end` is the code at the end of the range. P3109's infinity follows an even one as the odd code.
constexpr bool points_inward(facts const& f, mode m, bool negative, std::uint64_t end) {
  bool const is_odd_beyond = end % 2 == 0 && (end == 0 || f.has_infinity);
  return m == mode::toward_zero || (m == mode::to_odd && !is_odd_beyond) ||
         (m == mode::upward && negative) || (m == mode::downward && !negative);
}

constexpr std::uint64_t encode_nan(facts const& f, bool negative, std::uint64_t payload) {
  std::uint64_t const sign = negative ? f.sign_mask() : 0;
  switch (f.nans) {
    case nan_rule::none:
    case nan_rule::negative_zero:
      return f.sign_mask();
    case nan_rule::all_ones:
    case nan_rule::unsigned_all_ones:
    case nan_rule::unsigned_p3109:
      return sign | f.magnitude_mask();
    case nan_rule::ieee:
      break;
  }
  std::uint64_t const fraction = (payload | quiet_payload) >> (64 - f.significand_bits);
  return sign | (f.max_code() + 1) | fraction;
}

// Encodes an infinite result, be it given or made by overflow.
constexpr std::uint64_t encode_infinity(facts const& f, bool negative, policy p) {
  std::uint64_t const sign = negative ? f.sign_mask() : 0;
  if (p == policy::saturate || (!f.has_infinity && !f.has_nan())) return sign | f.max_code();
  if (f.has_infinity) return sign | (f.max_code() + 1);
  return encode_nan(f, negative, quiet_payload);
}

// `overflowed`, if given, is set to: x is finite and its rounded magnitude exceeds the largest
// finite value, whatever was stored for it.
constexpr std::uint64_t encode_wide(facts const& f, number const& x, mode m, policy p,
                                    std::uint32_t r = 0, bool* overflowed = nullptr) {
  assert(!(x.sticky && m == mode::stochastic));  // arithmetic results are rounded to nearest only
  if (overflowed != nullptr) *overflowed = false;
  if (x.what == kind::nan) return encode_nan(f, x.negative, x.payload);

  position at;
  if (x.what == kind::finite) {
    at = locate(f, x);
    if (moves_away(m, x.negative, at, r)) ++at.code;
  }
  bool const too_large = at.code > f.max_code();
  if (overflowed != nullptr) *overflowed = too_large;

  if (!f.has_zero() && (x.negative || x.what == kind::zero)) {
    return encode_nan(f, false, quiet_payload);
  }
  if (!f.is_signed && x.negative) {  // P3109, 4.7.5: what rounds to zero is in the range
    bool const is_zero = x.what != kind::infinity && (at.code == 0 || points_inward(f, m, true, 0));
    return is_zero || p == policy::saturate ? 0 : encode_nan(f, false, quiet_payload);
  }
  if (x.what == kind::infinity) return encode_infinity(f, x.negative, p);
  std::uint64_t const sign = x.negative ? f.sign_mask() : 0;
  if (too_large) {
    return points_inward(f, m, x.negative, f.max_code()) ? sign | f.max_code()
                                                         : encode_infinity(f, x.negative, p);
  }
  if (at.code == 0 && !f.has_negative_zero()) return 0;
  return sign | at.code;
}

constexpr std::uint32_t encode(facts const& f, number const& x, mode m, policy p,
                               std::uint32_t r = 0, bool* overflowed = nullptr) {
  assert(f.bits() <= 32);
  return static_cast<std::uint32_t>(encode_wide(f, x, m, p, r, overflowed));
}

// Exact. bfloat16 to float is a shift, so its NaNs stay as they are. Every other NaN is quieted,
// and `decode` gave the quiet bit alone to one without payload.
constexpr std::uint32_t decode_to_float_bits(facts const& f, std::uint64_t code) {
  number const x = decode(f, code);
  bool const is_float_head = f.exponent_bits == 8 && f.nans == nan_rule::ieee;
  if (x.what == kind::nan && is_float_head) {
    return static_cast<std::uint32_t>(code) << (23 - f.significand_bits);
  }
  return encode(binary32, x, mode::nearest_even, policy::infinity);
}

}  // namespace oracle
