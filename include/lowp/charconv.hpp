// SPDX-License-Identifier: Apache-2.0
// Decimal text to values and back, as <charconv> does it: no locale, one rounding, shortest text.
#pragma once

#include <lowp/value.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace lowp {

namespace detail {

inline namespace LOWP_UNIT {

/// The number 0.digits * 10^exponent, its digits with neither leading nor trailing zeros.
struct decimal {
  std::string digits;
  long exponent = 0;

  /// `text` is what std::from_chars accepted, its sign included.
  explicit decimal(std::string_view text) {
    std::size_t const e = std::min(text.find_first_of("eE"), text.size());
    bool in_fraction = false;
    for (char const c : text.substr(0, e)) {
      if (c == '.') in_fraction = true;
      if (c < '0' || c > '9') continue;
      if (c != '0' || !digits.empty()) digits += c;
      if (in_fraction && digits.empty()) --exponent;
      if (!in_fraction && !digits.empty()) ++exponent;
    }
    digits.erase(digits.find_last_not_of('0') + 1);
    if (e != text.size()) exponent += exponent_field(text.substr(e + 1));
  }

  bool operator==(decimal const&) const = default;
  bool operator<(decimal const& other) const {
    if (digits.empty() || other.digits.empty()) return digits.size() < other.digits.size();
    return exponent != other.exponent ? exponent < other.exponent : digits < other.digits;
  }

 private:
  static long exponent_field(std::string_view text) {
    if (text.starts_with('+')) text.remove_prefix(1);
    long value = 0;
    auto const read = std::from_chars(text.data(), text.data() + text.size(), value);
    // Either way no format can hold it.
    if (read.ec == std::errc::result_out_of_range)
      return text.starts_with('-') ? -1000000 : 1000000;
    return value;
  }
};

/// The decimal number that a double is, exactly.
inline decimal exact_decimal(double x) {
  char text[800];  // 767 digits at most
  auto const end = std::to_chars(text, text + sizeof(text), x, std::chars_format::scientific, 770);
  return decimal({text, static_cast<std::size_t>(end.ptr - text)});
}

/// Half way between two values of the format, where the text decides and not its nearest double.
template <format F>
bool is_tie(unpacked const& u) {
  return locate<F>(u).fraction == half<63, std::uint64_t>;
}

template <narrow T>
T nearest(std::string_view text, double nearest_double, bool is_out_of_range) {
  constexpr format F = T::descriptor;
  unpacked u = unpack(nearest_double);
  if (is_out_of_range) {  // of double, hence of every format
    u = unpacked{.negative = text.starts_with('-')};
    u.infinite = decimal(text).exponent > 0;
  } else if (!u.nan && !u.infinite && u.significand != 0 && is_tie<F>(u)) {
    decimal const wanted(text), half_way = exact_decimal(nearest_double);
    if (half_way < wanted) u.significand += 1;
    if (wanted < half_way) u.significand -= 1;
  }
  auto const results = special_results_of<F>(nearest_even{}, default_overflow<T>);
  return from_code<T>(encode<F>(u, 0, nearest_even{}, results));
}

template <narrow T>
std::from_chars_result parse(char const* first, char const* last, T& value) {
  double x = 0;
  auto const read = std::from_chars(first, last, x);
  if (read.ec == std::errc::invalid_argument) return read;
  value = nearest<T>({first, static_cast<std::size_t>(read.ptr - first)}, x,
                     read.ec == std::errc::result_out_of_range);
  return {read.ptr, {}};
}

template <narrow T>
double shortest(T value) {
  double const exact = double{float{value}};
  if (!isfinite(value) || exact == 0) return exact;
  for (int digits = 1; digits < 17; ++digits) {
    // The nearest decimals of so many digits: the interval of texts that read back may be wider on
    // one side than on the other.
    char text[40];
    auto const end =
        std::to_chars(text, text + sizeof(text), exact, std::chars_format::scientific, digits - 1);
    decimal const d({text, static_cast<std::size_t>(end.ptr - text)});
    std::int64_t leading = 0;
    std::from_chars(d.digits.data(), d.digits.data() + d.digits.size(), leading);
    for (auto n = static_cast<int>(d.digits.size()); n < digits; ++n) leading *= 10;
    for (std::int64_t const step : {0, 1, -1}) {
      std::string candidate(exact < 0 ? "-" : "");
      candidate.append(std::to_string(leading + step)).append("e");
      candidate.append(std::to_string(d.exponent - digits));
      T back;
      double decimal_value = 0;
      parse(candidate.data(), candidate.data() + candidate.size(), back);
      std::from_chars(candidate.data(), candidate.data() + candidate.size(), decimal_value);
      // What only saturates to the largest value is no text for it.
      double const distance = std::max(decimal_value - exact, exact - decimal_value) * 2;
      bool const is_near = magnitude(value) == T::descriptor.max_code()
                               ? distance < double{ulp(value)}
                               : distance <= double{ulp(value)};
      if (is_near && back.bits() == value.bits()) return decimal_value;
    }
  }
  return exact;
}

}  // namespace LOWP_UNIT

}  // namespace detail

/// Reads a decimal number, "inf" or "nan" as std::from_chars does, and rounds it once to the nearest
/// T, by T's default overflow policy; so a number is never out of range. `value` is unchanged on
/// std::errc::invalid_argument.
template <narrow T>
LOWP_HOST_FN std::from_chars_result from_chars(char const* first, char const* last, T& value) {
  return detail::parse(first, last, value);
}

/// The double whose shortest text is the shortest decimal that reads back to `value`.
template <narrow T>
LOWP_HOST_FN double shortest(T value) {
  return detail::shortest(value);
}

/// Writes that text; std::errc::value_too_large where there is no room.
template <narrow T>
LOWP_HOST_FN std::to_chars_result to_chars(char* first, char* last, T value) {
  return std::to_chars(first, last, detail::shortest(value));
}

}  // namespace lowp
