// SPDX-License-Identifier: Apache-2.0
// Reads the whole numbers of a command line.
#pragma once

#include <fmt/core.h>

#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>

/// Leaves a whole number in decimal. CLI11 alone takes -1 for the largest number, and so whatever
/// is beyond it. It reads 010 as 8.
/// @return  the error; empty for a whole number
inline std::string to_whole(std::string& text) {
  std::uint64_t number = 0;
  char const* const end = text.data() + text.size();
  auto const [rest, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && rest == end) return text = fmt::format("{}", number), "";
  return fmt::format("'{}' is not a whole number from 0 to 2^64 - 1", text);
}
