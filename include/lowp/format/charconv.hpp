// SPDX-License-Identifier: Apache-2.0
// Conversions between decimal text and values, as in <charconv>: no locale, one rounding, shortest
// text.
#pragma once

#include <lowp/format/decimal.hpp>
#include <lowp/format/math.hpp>

#include <charconv>
#include <string_view>

namespace lowp::detail::inline LOWP_UNIT {

/// Reads characters as std::from_chars does for chars_format::general.
class scanner {
 public:
  scanner(char const* first, char const* last) : at_(first), last_(last) {}

  /// Returns the number at the start of the text, and its end: the start itself without one.
  std::pair<unpacked, char const*> number() {
    char const* const first = at_;
    bool const negative = takes('-');
    unpacked value{.negative = negative};
    if (takes_word("inf")) {
      takes_word("inity");
      value.infinite = true;
    } else if (takes_word("nan")) {
      take_characters_of_nan();
      value.nan = true;
    } else {
      decimal d;
      if (!take_digits(d)) return {value, first};
      d.exponent += exponent();
      value = unpack_decimal(d);
      value.negative = negative;
    }
    return {value, at_};
  }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

  bool takes(char c) {
    if (at_ == last_ || lower(*at_) != c) return false;
    ++at_;
    return true;
  }
  bool takes_word(std::string_view word) {
    char const* const before = at_;
    for (char const c : word) {
      if (takes(c)) continue;
      at_ = before;
      return false;
    }
    return true;
  }
  /// Skips characters in parentheses after "nan", which mean nothing here.
  void take_characters_of_nan() {
    char const* const before = at_;
    if (!takes('(')) return;
    while (at_ != last_ &&
           (is_digit(*at_) || *at_ == '_' || (lower(*at_) >= 'a' && lower(*at_) <= 'z')))
      ++at_;
    if (!takes(')')) at_ = before;
  }
  bool take_digits(decimal& d) {
    bool any = false, in_fraction = false;
    for (; at_ != last_; ++at_) {
      if (*at_ == '.' && !in_fraction) {
        in_fraction = true;
        continue;
      }
      if (!is_digit(*at_)) break;
      any = true;
      d.append(static_cast<std::uint32_t>(*at_ - '0'));
      if (in_fraction) --d.exponent;
    }
    return any;
  }
  /// Reads an exponent, or returns 0 if the text has no exponent. The value stops growing once no
  /// number of digits in memory can offset it.
  std::int64_t exponent() {
    constexpr std::int64_t enough = std::int64_t{1} << 58;
    char const* const before = at_;
    if (!takes('e')) return 0;
    bool const negative = takes('-');
    if (!negative) takes('+');
    if (at_ == last_ || !is_digit(*at_)) {
      at_ = before;
      return 0;
    }
    std::int64_t value = 0;
    for (; at_ != last_ && is_digit(*at_); ++at_)
      if (value < enough) value = 10 * value + (*at_ - '0');
    return negative ? -value : value;
  }

  char const* at_;
  char const* const last_;
};

/// Returns true if the format specification of a floating-point number has a precision or a type.
/// Both ask for digits of the exact value. A fill may be any character.
LOWP_HOST_FN constexpr bool asks_for_digits(std::string_view spec) {
  constexpr std::string_view alignments = "<>^";
  for (std::size_t i = 1; i < spec.size() && i < 5; ++i)  // a character has at most four bytes
    if (alignments.find(spec[i]) != alignments.npos) spec.remove_prefix(i);
  return spec.find_first_of(".aAeEfFgG") != spec.npos;
}

}  // namespace lowp::detail::inline LOWP_UNIT

namespace lowp::inline LOWP_UNIT {

/// Reads a decimal number, "inf" or "nan" as std::from_chars does. Rounds it once to the nearest T
/// with T's default overflow policy, so that no number is out of range. `value` is unchanged on
/// std::errc::invalid_argument.
template <narrow T>
std::from_chars_result from_chars(char const* first, char const* last, T& value) {
  auto const [number, end] = detail::scanner(first, last).number();
  if (end == first) return {first, std::errc::invalid_argument};
  value = detail::nearest_value<T>(number);
  return {end, {}};
}

/// Returns the double whose shortest text is the shortest decimal that reads back to `value`. A
/// decimal that only saturates to the largest value does not count.
template <narrow T>
double shortest(T value) {
  detail::unpacked const u = detail::unpack(value);
  if (u.nan || u.infinite || u.significand == 0) return detail::nearest<double>(u);
  detail::decimal const leading = detail::leading_digits(u);
  std::uint64_t const digits = leading.digits.bits_from(0);
  std::int64_t exponent = leading.exponent;
  std::uint64_t power = 1;
  for (; power <= digits / 10; power *= 10) ++exponent;
  for (;; power /= 10, --exponent) {
    std::uint64_t const kept = digits / power, twice_rest = digits % power * 2;
    bool const is_up =
        twice_rest > power || (twice_rest == power && (leading.has_more || kept % 2 != 0));
    // Neighbours too: the interval of texts that read back may be wider on one side.
    for (std::uint64_t const step : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
      auto read = detail::unpack_decimal({detail::natural(kept + is_up + step), exponent});
      if (detail::round_unpacked<T::descriptor>(read, 0, nearest_even{}) !=
          detail::magnitude(value))
        continue;
      read.negative = u.negative;
      return detail::nearest<double>(read);
    }
  }
}

/// Writes the shortest decimal that reads back to `value`. Returns std::errc::value_too_large if it
/// does not fit.
std::to_chars_result to_chars(char* first, char* last, narrow auto value) {
  if (!isnan(value)) return std::to_chars(first, last, shortest(value));
  std::string_view const nan = signbit(value) ? "-nan" : "nan";  // libc++ may write "-nan(ind)"
  if (static_cast<std::size_t>(last - first) < nan.size())
    return {last, std::errc::value_too_large};
  return {first + nan.copy(first, nan.size()), {}};
}

}  // namespace lowp::inline LOWP_UNIT
