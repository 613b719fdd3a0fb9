// SPDX-License-Identifier: Apache-2.0
// Conversions between decimal and unpacked numbers, in integers. No flag of the unit and no state
// of the processor changes a digit. std::from_chars need not know floating-point types.
#pragma once

#include <lowp/format/unpack.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace lowp::detail::inline LOWP_UNIT {

/// A natural number below 2^3072.
class natural {
 public:
  explicit natural(std::uint64_t number = 0) {
    for (; number != 0; number >>= 32) words_[size_++] = static_cast<std::uint32_t>(number);
  }

  void multiply_add(std::uint32_t factor, std::uint32_t addend) {
    std::uint64_t carry = addend;
    for (std::size_t i = 0; i < size_; ++i) {
      carry += std::uint64_t{words_[i]} * factor;
      words_[i] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) words_[size_++] = static_cast<std::uint32_t>(carry);
  }
  /// Divides by `divisor` and returns the remainder.
  std::uint32_t divide(std::uint32_t divisor) {
    std::uint64_t rest = 0;
    for (std::size_t i = size_; i-- > 0;) {
      rest = rest << 32 | words_[i];
      words_[i] = static_cast<std::uint32_t>(rest / divisor);
      rest %= divisor;
    }
    while (size_ > 0 && words_[size_ - 1] == 0) --size_;
    return static_cast<std::uint32_t>(rest);
  }
  void shift_left(int bits) {
    for (; bits >= 31; bits -= 31) multiply_add(1u << 31, 0);
    multiply_add(1u << bits, 0);
  }
  void multiply_by_power_of_five(int exponent) {
    for (; exponent >= 13; exponent -= 13) multiply_add(five_to_the_13th, 0);
    for (; exponent > 0; --exponent) multiply_add(5, 0);
  }
  /// Divides, and returns true if there was a remainder.
  bool divide_by_power_of_five(int exponent) {
    bool rest = false;
    for (; exponent >= 13; exponent -= 13) rest |= divide(five_to_the_13th) != 0;
    for (; exponent > 0; --exponent) rest |= divide(5) != 0;
    return rest;
  }

  [[nodiscard]] bool is_zero() const { return size_ == 0; }
  [[nodiscard]] int bit_length() const {
    return size_ == 0 ? 0 : static_cast<int>(32 * size_) - (leading_zeros(words_[size_ - 1]) - 32);
  }
  /// Returns the number times 2^scale. `below` adds something smaller than its last bit.
  [[nodiscard]] unpacked times_power_of_two(int scale, bool below) const {
    std::uint64_t leading = 0;
    std::size_t const least = size_ > 3 ? size_ - 3 : 0;
    for (std::size_t i = 0; i < least; ++i) below |= words_[i] != 0;
    int const shift = bit_length() - static_cast<int>(32 * least) - 64;  // to 64 leading bits
    for (std::size_t i = size_; i-- > least;) {
      int const at = static_cast<int>(32 * (i - least)) - (shift > 0 ? shift : 0);
      std::uint64_t const word = words_[i];
      leading |= at >= 0 ? word << at : word >> -at;
      below |= at < 0 && (word & ((std::uint64_t{1} << -at) - 1)) != 0;
    }
    return normalized(false, leading | (below ? 1 : 0),
                      scale + static_cast<int>(32 * least) + (shift > 0 ? shift : 0));
  }

 private:
  static constexpr std::uint32_t five_to_the_13th = 1220703125;

  std::array<std::uint32_t, 96> words_;
  std::size_t size_ = 0;
};

/// The decimal 0.digits * 10^point. No digit leads with zero; zero has no digits.
struct decimal {
  /// The number of digits kept: the midpoint of two doubles has 768 at most. Later digits decide
  /// only if one is not zero.
  static constexpr std::size_t capacity = 768;

  std::array<std::uint8_t, capacity> digits;
  std::size_t size = 0;
  std::int64_t point = 0;
  bool has_more = false;  ///< a later digit is not zero

  void append(std::uint8_t digit) {
    if (size < capacity)
      digits[size++] = digit;
    else
      has_more |= digit != 0;
  }
};

/// Returns the value of `d`, with a bit for "not zero below". For a value far outside double's
/// range, it returns some number that is as far.
inline unpacked unpack_decimal(decimal const& d) {
  constexpr int far = 400, far_exponent = 2000;
  unpacked u;
  if (d.size == 0) return u;
  if (d.point < -far || d.point > far) {
    u.exponent = d.point < 0 ? -far_exponent : far_exponent;
    u.significand = std::uint64_t{1} << 61;
    return u;
  }
  natural n;
  std::uint32_t digits = 0, power = 1;
  for (std::size_t i = 0; i < d.size; ++i) {
    digits = 10 * digits + d.digits[i];
    power *= 10;
    if (power != 1'000'000'000 && i + 1 != d.size) continue;
    n.multiply_add(power, digits);
    digits = 0, power = 1;
  }
  auto exponent = static_cast<int>(d.point) - static_cast<int>(d.size);
  if (exponent >= 0) {
    n.multiply_by_power_of_five(exponent);
    u = n.times_power_of_two(exponent, d.has_more);
  } else {
    int const wanted = 66 - exponent * 7 / 3 - n.bit_length();  // log2(5) < 7/3: 64 bits remain
    int const shift = wanted > 0 ? wanted : 0;
    n.shift_left(shift);
    bool const rest = n.divide_by_power_of_five(-exponent);
    u = n.times_power_of_two(exponent - shift, rest || d.has_more);
  }
  return u;
}

/// Returns the exact decimal of a finite number that is no smaller than the smallest double.
inline decimal exact_decimal(unpacked const& u) {
  decimal d;
  std::uint64_t significand = u.significand;
  int exponent = u.exponent - 61;
  for (; (significand & 1) == 0; significand >>= 1) ++exponent;
  natural n(significand);
  if (exponent >= 0)
    n.shift_left(exponent);
  else
    n.multiply_by_power_of_five(-exponent);
  std::array<std::uint8_t, 1100> backwards;
  std::size_t size = 0;
  for (; !n.is_zero(); ++size) backwards[size] = static_cast<std::uint8_t>(n.divide(10));
  for (std::size_t i = size; i-- > 0;) d.append(backwards[i]);
  d.point = static_cast<int>(size) + (exponent < 0 ? exponent : 0);
  return d;
}

/// The number digits * 10^exponent.
struct short_decimal {
  std::uint64_t digits;
  int exponent;
};

inline unpacked unpack_decimal(short_decimal const& s) {
  decimal d;
  std::uint64_t power = 1;
  for (; power <= s.digits / 10;) power *= 10;
  for (; power != 0; power /= 10) d.append(static_cast<std::uint8_t>(s.digits / power % 10));
  d.point = static_cast<int>(d.size) + s.exponent;
  return unpack_decimal(d);
}

/// Returns `d` rounded to `digits` digits; a tie goes to the even one.
inline short_decimal rounded(decimal const& d, int digits) {
  std::uint64_t leading = 0;
  auto const kept = static_cast<std::size_t>(digits);
  for (std::size_t i = 0; i < kept; ++i) leading = 10 * leading + (i < d.size ? d.digits[i] : 0);
  int const next = kept < d.size ? d.digits[kept] : 0;
  bool more = d.has_more;
  for (std::size_t i = kept + 1; i < d.size; ++i) more |= d.digits[i] != 0;
  if (next > 5 || (next == 5 && (more || (leading & 1) != 0))) ++leading;
  return {leading, static_cast<int>(d.point) - digits};
}

/// Returns the nearest X, ties to even, and infinity beyond the largest. A NaN keeps its leading
/// payload bits.
template <std::floating_point X>
  requires(sizeof(X) == 4 || sizeof(X) == 8)
X nearest(unpacked const& u) {
  constexpr format F = sizeof(X) == 4 ? binary32 : binary64;
  using word = std::conditional_t<sizeof(X) == 4, std::uint32_t, std::uint64_t>;
  constexpr std::uint64_t infinity = std::uint64_t{(1u << F.exponent_bits) - 1}
                                     << F.significand_bits;
  std::uint64_t code = infinity;
  if (u.nan) {
    code |= std::uint64_t{u.payload | 0x80000000} << 32 >> (64 - F.significand_bits);
  } else if (!u.infinite) {
    code = round_unpacked<F>(u, 0, nearest_even{});
    if (code > infinity) code = infinity;
  }
  code |= std::uint64_t{u.negative} << (8 * sizeof(X) - 1);
  return __builtin_bit_cast(X, static_cast<word>(code));
}

}  // namespace lowp::detail::inline LOWP_UNIT
