// SPDX-License-Identifier: Apache-2.0
// Conversions between decimal text and values, as in <charconv>: no locale, one rounding, shortest
// text.
#pragma once

#include <lowp/format/arithmetic.hpp>
#include <lowp/format/decimal.hpp>
#include <lowp/format/math.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace lowp::detail::inline LOWP_UNIT {

/// The number at the start of a text, and its end: the start itself if the text has no number.
struct scanned {
  unpacked value;
  char const* end;
};

/// Reads characters as std::from_chars does for chars_format::general.
class scanner {
 public:
  scanner(char const* first, char const* last) : at_(first), last_(last) {}

  scanned number() {
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
      d.point += exponent();
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
      auto const digit = static_cast<std::uint8_t>(*at_ - '0');
      if (digit != 0 || d.size != 0) {
        d.append(digit);
        if (!in_fraction) ++d.point;
      } else if (in_fraction) {
        --d.point;
      }
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

/// Returns the shortest decimal that reads back to the magnitude of `value`, which is finite and
/// not zero. A decimal that only saturates to the largest value does not count.
template <narrow T>
short_decimal shortest_decimal(T value) {
  decimal const exact = exact_decimal(unpack(abs(value)));
  for (int digits = 1;; ++digits) {
    short_decimal const nearest = rounded(exact, digits);
    // Neighbours too: the interval of texts that read back may be wider on one side.
    for (std::uint64_t const step : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
      short_decimal candidate{nearest.digits + step, nearest.exponent};
      unpacked const u = unpack_decimal(candidate);
      if (round_unpacked<T::descriptor>(u, 0, nearest_even{}) != magnitude(value)) continue;
      for (; candidate.digits % 10 == 0; candidate.digits /= 10) ++candidate.exponent;
      return candidate;
    }
  }
}

/// The text of one number, with room for the longest.
class short_text {
 public:
  explicit short_text(narrow auto value) {
    if (signbit(value)) append("-");
    if (isnan(value))
      append("nan");
    else if (isinf(value))
      append("inf");
    else if (unpack(value).significand == 0)
      append("0");
    else
      append(shortest_decimal(value));
  }
  [[nodiscard]] std::string_view view() const { return {text_, size_}; }

 private:
  void append(std::string_view text) {
    for (char const c : text) text_[size_++] = c;
  }
  void append_zeros(int n) {
    for (; n > 0; --n) append("0");
  }

  /// Appends the shorter of the fixed and the scientific notation; if equal, the fixed one.
  void append(short_decimal const& number) {
    char digits[20];
    auto const end = std::to_chars(digits, digits + sizeof(digits), number.digits).ptr;
    std::string_view const all(digits, static_cast<std::size_t>(end - digits));
    auto const size = static_cast<int>(all.size());
    bool const has_one = size == 1;  // no point in the scientific notation
    int const least = has_one ? -3 : -size - 3, most = has_one ? 4 : 5;
    if (number.exponent < least || number.exponent > most) {
      append(all.substr(0, 1));
      if (!has_one) append(".");
      append(all.substr(1));
      append_exponent(number.exponent + size - 1);
    } else if (number.exponent >= 0) {
      append(all);
      append_zeros(number.exponent);
    } else if (int const whole = size + number.exponent; whole <= 0) {
      append("0.");
      append_zeros(-whole);
      append(all);
    } else {
      append(all.substr(0, static_cast<std::size_t>(whole)));
      append(".");
      append(all.substr(static_cast<std::size_t>(whole)));
    }
  }
  void append_exponent(int exponent) {
    append(exponent < 0 ? "e-" : "e+");
    int const size = exponent < 0 ? -exponent : exponent;
    if (size < 10) append("0");
    size_ = static_cast<std::size_t>(std::to_chars(text_ + size_, text_ + sizeof(text_), size).ptr -
                                     text_);
  }

  char text_[40];
  std::size_t size_ = 0;
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

/// The double whose shortest text is the shortest decimal that reads back to `value`.
double shortest(narrow auto value) {
  detail::unpacked u = detail::unpack(value);
  if (!u.nan && !u.infinite && u.significand != 0) {
    u = detail::unpack_decimal(detail::shortest_decimal(value));
    u.negative = signbit(value);
  }
  return detail::nearest<double>(u);
}

/// Writes the shortest decimal that reads back to `value`. Returns std::errc::value_too_large if it
/// does not fit.
template <narrow T>
std::to_chars_result to_chars(char* first, char* last, T value) {
  detail::short_text const made(value);
  std::string_view const text = made.view();
  if (static_cast<std::size_t>(last - first) < text.size())
    return {last, std::errc::value_too_large};
  __builtin_memcpy(first, text.data(), text.size());
  return {first + text.size(), {}};
}

}  // namespace lowp::inline LOWP_UNIT
