// SPDX-License-Identifier: Apache-2.0
// Streams. Output is float's, manipulators and all; input rounds the text once.
#pragma once

#include <lowp/charconv.hpp>

#include <istream>
#include <ostream>
#include <string>

namespace lowp {

template <class Traits, narrow T>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, T value) {
  return out << float{value};
}

/// Reads the longest run of characters that numbers are made of; failbit if it is not a number.
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
  if (next == Traits::eof()) in.setstate(std::ios_base::eofbit);
  char const* const first = text.data() + (text.starts_with('+') ? 1 : 0);
  char const* const last = text.data() + text.size();
  auto const read = from_chars(first, last, value);
  if (read.ec != std::errc{} || read.ptr != last) in.setstate(std::ios_base::failbit);
  return in;
}

}  // namespace lowp
