// SPDX-License-Identifier: Apache-2.0
#include "files/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <lowp/io/safetensors/printable.hpp>

using lowp::safetensors::detail::printable, lowp::safetensors::detail::printable_pieces;

namespace {
// Counts the columns of a text without control characters: all bytes but those that continue a
// character of UTF-8. Some characters are two columns wide.
std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}
}  // namespace

std::string shown_name(std::string_view name, std::size_t width) {
  if (name.empty()) return "\"\"";
  // A character has at most four bytes, and at least a column: nothing beyond these is seen.
  std::size_t const most_bytes = 4 * width;
  auto const front = printable_pieces(name.substr(0, most_bytes));
  std::string text;
  for (std::string const& piece : front) text += piece;
  if (name.size() <= most_bytes && columns(text) <= width) return text;

  // The end tells layers apart, and so does the beginning.
  std::size_t const begin = (width - 3) / 2, end = width - 3 - begin;
  std::string_view rest = name.substr(name.size() - std::min(name.size(), most_bytes));
  for (int i = 0; i < 3 && rest.size() < name.size() && columns(rest.substr(0, 1)) == 0; ++i)
    rest.remove_prefix(1);
  auto const back = printable_pieces(rest);
  std::string first, last;
  for (auto piece = front.begin(); columns(first + *piece) <= begin; ++piece) first += *piece;
  for (auto piece = back.rbegin(); columns(*piece + last) <= end; ++piece) last.insert(0, *piece);
  return first + "..." + last;
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return printable(text, text.size());
}

std::string shown_power(float power_of_two) {
  return power_of_two == 1 ? "1" : fmt::format("2^{}", std::ilogb(power_of_two));
}

std::string shown_number(double x) { return x == 0 ? "-" : fmt::format("{:.4g}", x); }

std::string shown_count(std::uint64_t many) { return many == 0 ? "-" : fmt::format("{}", many); }

std::string counted(std::uint64_t many, std::string_view what) {
  return fmt::format("{} {}{}", many, what, many == 1 ? "" : "s");
}

std::string shown_names(std::vector<std::string_view> const& names, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i)
    text.append(i == 0 ? "" : ", ").append(shown_name(names[i], name_width));
  return names.size() > most ? fmt::format("{} and {} more", text, names.size() - most) : text;
}

void write_aligned(std::size_t rows,
                   std::function<std::vector<std::string>(std::size_t)> const& row,
                   sink const& to) {
  std::vector<std::size_t> widths;
  for (std::size_t r = 0; r < rows; ++r) {
    auto const cells = row(r);
    widths.resize(std::max(widths.size(), cells.size()));
    for (std::size_t i = 0; i < cells.size(); ++i)
      widths[i] = std::max(widths[i], columns(cells[i]));
  }
  for (std::size_t r = 0; r < rows; ++r) {
    auto const cells = row(r);
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      // Not fmt's own filling, by which a column has other widths than here.
      std::string const space(widths[i] - columns(cells[i]), ' ');
      line += i == 0 ? cells[i] + space : "  " + space + cells[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    to(line + '\n');
  }
}
