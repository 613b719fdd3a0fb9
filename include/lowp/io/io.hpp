// SPDX-License-Identifier: Apache-2.0
// Streams and std::format, if the library has it: as fmt.hpp, but without x and b. A stream
// shows the exact value as it shows a float, with all manipulators. Input rounds the text once.
#pragma once

#include <lowp/format/charconv.hpp>

#include <istream>
#include <ostream>
#include <string>
#include <system_error>
#include <version>
#if defined(__cpp_lib_format)
#include <format>
#endif

namespace lowp {

template <class Traits, narrow T>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, T value) {
  // A stream widens a float itself, and flushes subnormals if the processor does.
  return out << detail::nearest<double>(detail::unpack(value));
}

/// Reads the longest run of characters that occur in numbers. If that is not a number, sets failbit
/// and leaves `value` unchanged.
template <class Traits, narrow T>
std::basic_istream<char, Traits>& operator>>(std::basic_istream<char, Traits>& in, T& value) {
  typename std::basic_istream<char, Traits>::sentry const ready(in);
  if (!ready) return in;
  constexpr std::string_view of_a_number = "+-.0123456789aefintyAEFINTY";
  std::string text;
  auto next = in.rdbuf()->sgetc();
  for (; next != Traits::eof() && of_a_number.find(Traits::to_char_type(next)) != of_a_number.npos;
       next = in.rdbuf()->snextc())
    text += Traits::to_char_type(next);
  auto state = next == Traits::eof() ? std::ios_base::eofbit : std::ios_base::goodbit;
  char const* const first =
      text.data() + (text.starts_with('+') && !text.starts_with("+-") ? 1 : 0);
  char const* const last = text.data() + text.size();
  T number;
  auto const read = from_chars(first, last, number);
  if (read.ec == std::errc{} && read.ptr == last)
    value = number;
  else
    state |= std::ios_base::failbit;
  in.setstate(state);  // at the end, because it may throw
  return in;
}

}  // namespace lowp

#if defined(__cpp_lib_format)
/// Formats {} as the shortest text that reads back to the same value. With a precision or a type of
/// a, e, f, g it formats the exact value.
template <lowp::format F, bool IsImplicit>
struct std::formatter<lowp::basic_float<F, IsImplicit>, char> {
  constexpr auto parse(std::format_parse_context& context) {
    auto const end = number_.parse(context);
    shows_digits_ = lowp::detail::asks_for_digits({context.begin(), end});
    return end;
  }
  auto format(lowp::basic_float<F, IsImplicit> value, auto& context) const {
    return number_.format(shows_digits_ ? lowp::detail::nearest<double>(lowp::detail::unpack(value))
                                        : lowp::shortest(value),
                          context);
  }

 private:
  bool shows_digits_ = false;
  std::formatter<double, char> number_;
};
#endif
