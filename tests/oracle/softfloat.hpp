// SPDX-License-Identifier: Apache-2.0
// Arithmetic on codes: an exact result, or one with a sticky remainder, rounded once to nearest
// even. A result that is NaN is the canonical one whatever the operands' payloads were.
#pragma once

#include <cassert>
#include <cstdint>
#include <utility>

#include "codec.hpp"

namespace oracle {

constexpr number negated(number x) {
  x.negative = !x.negative;
  return x;
}

constexpr number product(number const& a, number const& b) {
  assert(!a.sticky && !b.sticky && bit_length(a.significand) + bit_length(b.significand) <= 128);
  if (a.what == kind::nan || b.what == kind::nan) return make_nan();
  bool const negative = a.negative != b.negative;
  bool const zero = a.what == kind::zero || b.what == kind::zero;
  if (a.what == kind::infinity || b.what == kind::infinity) {
    return zero ? make_nan() : make_infinity(negative);
  }
  if (zero) return make_zero(negative);
  return make_finite(negative, a.significand * b.significand, a.exponent + b.exponent);
}

constexpr number sum(number a, number b) {
  assert(!a.sticky && !b.sticky);
  if (a.what == kind::nan || b.what == kind::nan) return make_nan();
  if (a.what == kind::infinity && b.what == kind::infinity) {
    return a.negative == b.negative ? a : make_nan();
  }
  if (a.what == kind::infinity || b.what == kind::zero) {
    // Zeros of unlike sign add up to +0 when rounding to nearest.
    if (a.what == kind::zero) return make_zero(a.negative && b.negative);
    return a;
  }
  if (b.what == kind::infinity || a.what == kind::zero) return b;

  // Let `a` reach at least as high, and put its leading bit at bit 125, so that the sum fits. The
  // part of `b` that then falls below bit 0 belongs to a number at least 2^19 times smaller.
  assert(bit_length(a.significand) <= 106 && bit_length(b.significand) <= 106);
  if (bit_length(a.significand) + a.exponent < bit_length(b.significand) + b.exponent) {
    std::swap(a, b);
  }
  int const up = 126 - bit_length(a.significand);
  u128 big = a.significand << up;
  int const exponent = a.exponent - up;

  u128 small = 0;
  bool sticky = false;
  int const down = exponent - b.exponent;
  if (down <= 0) {
    small = b.significand << -down;
  } else {
    small = down < 128 ? b.significand >> down : 0;
    sticky = down >= 128 || (small << down) != b.significand;
  }

  if (a.negative == b.negative) return make_finite(a.negative, big + small, exponent, sticky);
  if (big < small) {
    std::swap(big, small);
    a.negative = !a.negative;
  }
  // Subtracting small + rest leaves big - small - 1 and the rest's complement.
  u128 const difference = big - small - (sticky ? 1 : 0);
  if (difference == 0) return make_zero(false);
  return make_finite(a.negative, difference, exponent, sticky);
}

constexpr number quotient(number const& a, number const& b) {
  assert(!a.sticky && !b.sticky && bit_length(b.significand) <= 64);
  if (a.what == kind::nan || b.what == kind::nan) return make_nan();
  bool const negative = a.negative != b.negative;
  if (a.what == kind::infinity) {
    return b.what == kind::infinity ? make_nan() : make_infinity(negative);
  }
  if (b.what == kind::infinity) return make_zero(negative);
  if (b.what == kind::zero) {
    return a.what == kind::zero ? make_nan() : make_infinity(negative);
  }
  if (a.what == kind::zero) return make_zero(negative);
  int const up = 128 - bit_length(a.significand);
  u128 const dividend = a.significand << up;
  u128 const whole = dividend / b.significand;
  bool const sticky = whole * b.significand != dividend;
  return make_finite(negative, whole, a.exponent - up - b.exponent, sticky);
}

constexpr number root(number const& x) {
  assert(!x.sticky);
  if (x.what == kind::nan || x.what == kind::zero) return x.what == kind::nan ? make_nan() : x;
  if (x.negative) return make_nan();
  if (x.what == kind::infinity) return x;
  int up = 128 - bit_length(x.significand);
  if ((x.exponent - up) % 2 != 0) --up;
  u128 const square = up >= 0 ? x.significand << up : 0;
  assert(up >= 0);
  std::uint64_t whole = 0;  // the largest integer whose square is not above `square`
  for (int bit = 63; bit >= 0; --bit) {
    std::uint64_t const candidate = whole | std::uint64_t{1} << bit;
    if (static_cast<u128>(candidate) * candidate <= square) whole = candidate;
  }
  bool const sticky = static_cast<u128>(whole) * whole != square;
  return make_finite(false, whole, (x.exponent - up) / 2, sticky);
}

enum class op { add, subtract, multiply, divide };

constexpr number apply(op o, number const& a, number const& b) {
  switch (o) {
    case op::add:
      return sum(a, b);
    case op::subtract:
      return sum(a, negated(b));
    case op::multiply:
      return product(a, b);
    case op::divide:
      return quotient(a, b);
  }
  return make_nan();
}

// A8: the format's default policy decides what an overflow, or a division by zero, is stored as.
constexpr std::uint64_t round_result(facts const& f, number const& x) {
  return encode_wide(f, x, mode::nearest_even, default_policy(f));
}
constexpr std::uint64_t arithmetic_wide(facts const& f, op o, std::uint64_t a, std::uint64_t b) {
  return round_result(f, apply(o, decode(f, a), decode(f, b)));
}
constexpr std::uint32_t arithmetic(facts const& f, op o, std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(arithmetic_wide(f, o, a, b));
}
constexpr std::uint32_t sqrt(facts const& f, std::uint32_t a) {
  return static_cast<std::uint32_t>(round_result(f, root(decode(f, a))));
}
constexpr std::uint32_t fma(facts const& f, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  number const exact = sum(product(decode(f, a), decode(f, b)), decode(f, c));
  return static_cast<std::uint32_t>(round_result(f, exact));
}

constexpr std::uint32_t f32_add(std::uint32_t a, std::uint32_t b) {
  return arithmetic(binary32, op::add, a, b);
}
constexpr std::uint32_t f32_sub(std::uint32_t a, std::uint32_t b) {
  return arithmetic(binary32, op::subtract, a, b);
}
constexpr std::uint32_t f32_mul(std::uint32_t a, std::uint32_t b) {
  return arithmetic(binary32, op::multiply, a, b);
}
constexpr std::uint32_t f32_div(std::uint32_t a, std::uint32_t b) {
  return arithmetic(binary32, op::divide, a, b);
}
constexpr std::uint32_t f32_sqrt(std::uint32_t a) { return sqrt(binary32, a); }
constexpr std::uint32_t f32_fma(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return fma(binary32, a, b, c);
}

constexpr std::uint64_t f64_sub(std::uint64_t a, std::uint64_t b) {
  return arithmetic_wide(binary64, op::subtract, a, b);
}
constexpr std::uint64_t f64_mul(std::uint64_t a, std::uint64_t b) {
  return arithmetic_wide(binary64, op::multiply, a, b);
}
constexpr std::uint64_t f64_div(std::uint64_t a, std::uint64_t b) {
  return arithmetic_wide(binary64, op::divide, a, b);
}
constexpr std::uint64_t f64_sqrt(std::uint64_t a) {
  return round_result(binary64, root(decode(binary64, a)));
}

}  // namespace oracle
