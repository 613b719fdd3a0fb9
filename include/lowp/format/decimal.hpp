// SPDX-License-Identifier: Apache-2.0
// Conversions between decimal and unpacked numbers, in integers. No flag of the unit and no state
// of the processor changes a digit. std::from_chars need not know floating-point types.
#pragma once

#include <lowp/format/unpack.hpp>

#include <bit>

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
  /// Returns words `first` and `first` + 1.
  [[nodiscard]] std::uint64_t bits_from(std::size_t first) const {
    return (size_ > first + 1 ? std::uint64_t{words_[first + 1]} << 32 : 0) |
           (size_ > first ? words_[first] : 0);
  }
  /// Returns the number times 2^scale. `below` adds something smaller than its last bit.
  [[nodiscard]] unpacked times_power_of_two(int scale, bool below) {
    int const up = (32 - bit_length() % 32) % 32;
    shift_left(up);  // two words then have the leading 64 bits
    std::size_t const least = size_ > 2 ? size_ - 2 : 0;
    for (std::size_t i = 0; i < least; ++i) below |= words_[i] != 0;
    return normalized(false, bits_from(least) | (below ? 1 : 0),
                      scale - up + static_cast<int>(32 * least));
  }

 private:
  static constexpr std::uint32_t five_to_the_13th = 1220703125;

  std::array<std::uint32_t, 96> words_;
  std::size_t size_ = 0;
};

/// The number digits * 10^exponent, or slightly more.
struct decimal {
  natural digits;
  std::int64_t exponent = 0;
  bool has_more = false;  ///< a later digit is not zero

  /// Appends a digit. It is kept if there are less than 768, as many as the midpoint of two doubles
  /// has at most. Later digits decide only if one is not zero.
  void append(std::uint32_t digit) {
    if (digits.bit_length() < 2552) return digits.multiply_add(10, digit);
    has_more |= digit != 0;
    ++exponent;
  }
};

/// Returns the value of `d`, with a bit for "not zero below". For a value far outside double's
/// range, it returns some number that is as far.
inline unpacked unpack_decimal(decimal d) {
  constexpr int limit = 400, far_exponent = 2000;
  if (d.digits.is_zero()) return {};
  std::int64_t const size = d.digits.bit_length() * 3 / 10, point = d.exponent + size;  // roughly
  if (point < -limit || point > limit)
    return {.exponent = point < 0 ? -far_exponent : far_exponent,
            .significand = std::uint64_t{1} << 61};
  auto const exponent = static_cast<int>(d.exponent);
  if (exponent >= 0) {
    d.digits.multiply_by_power_of_five(exponent);
    return d.digits.times_power_of_two(exponent, d.has_more);
  }
  int const wanted =
      66 - exponent * 7 / 3 - d.digits.bit_length();  // log2(5) < 7/3: 64 bits remain
  int const shift = wanted > 0 ? wanted : 0;
  d.digits.shift_left(shift);
  bool const rest = d.digits.divide_by_power_of_five(-exponent);
  return d.digits.times_power_of_two(exponent - shift, rest || d.has_more);
}

/// Returns 18 or 19 digits of a finite number that is not zero, or all of them.
inline decimal leading_digits(unpacked const& u) {
  int const zeros = std::countr_zero(u.significand), exponent = u.exponent - 61 + zeros;
  decimal d{natural(u.significand >> zeros)};
  if (exponent >= 0) {
    d.digits.shift_left(exponent);
  } else {
    d.digits.multiply_by_power_of_five(-exponent);
    d.exponent = exponent;
  }
  for (; d.digits.bit_length() > 62; ++d.exponent) d.has_more |= d.digits.divide(10) != 0;
  return d;
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
