// SPDX-License-Identifier: Apache-2.0
#include "text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <lowp/safetensors/header.hpp>

std::string shown_name(std::string_view name, std::size_t width) {
  std::string text = lowp::safetensors::detail::printable(name);
  if (text.size() <= width) return text;
  // The end tells layers apart, and so does the beginning.
  std::size_t const begin = (width - 3) / 2;
  return text.substr(0, begin) + "..." + text.substr(text.size() - (width - 3 - begin));
}

std::string shown_power(float power_of_two) {
  return power_of_two == 1 ? "1" : fmt::format("2^{}", std::ilogb(power_of_two));
}

std::string shown_number(double x) { return x == 0 ? "-" : fmt::format("{:.4g}", x); }

std::string shown_count(std::uint64_t many) { return many == 0 ? "-" : fmt::format("{}", many); }

std::string counted(std::uint64_t many, std::string_view what) {
  return fmt::format("{} {}{}", many, what, many == 1 ? "" : "s");
}

std::string shown_names(std::vector<std::string> const& names, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i)
    text.append(i == 0 ? "" : ", ").append(shown_name(names[i], name_width));
  return names.size() > most ? fmt::format("{} and {} more", text, names.size() - most) : text;
}

std::string aligned(std::vector<std::vector<std::string>> const& rows) {
  std::vector<std::size_t> widths;
  for (auto const& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (auto const& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      text += i == 0 ? fmt::format("{:<{}}", row[i], widths[i])
                     : fmt::format("  {:>{}}", row[i], widths[i]);
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}
