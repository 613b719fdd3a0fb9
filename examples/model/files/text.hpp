// SPDX-License-Identifier: Apache-2.0
// Numbers and names as they are shown.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// Takes a report a piece at a time: all of it may be gigabytes.
using sink = std::function<void(std::string_view)>;

/// Columns that a name has in a table.
inline constexpr std::size_t name_width = 48;

/// A name out of a file, fit for a terminal, at most `width` columns wide; "" in quotes if it is
/// empty.
std::string shown_name(std::string_view name, std::size_t width);
/// The text in one line, fit for a terminal.
std::string one_line(std::string text);
/// "2^-4", "1"
std::string shown_power(float power_of_two);
/// Four significant digits; "-" for zero.
std::string shown_number(double x);
/// "-" for none.
std::string shown_count(std::uint64_t many);

/// "1 tensor", "3 tensors"
std::string counted(std::uint64_t many, std::string_view what);
/// "a, b and 3 more": names out of a file, of which `most` are shown.
std::string shown_names(std::vector<std::string_view> const& names, std::size_t most);

/// Columns as wide as their widest cell, the first flush left.
/// @param row  returns the cells of a row; called twice for each
void write_aligned(std::size_t rows,
                   std::function<std::vector<std::string>(std::size_t)> const& row, sink const& to);
