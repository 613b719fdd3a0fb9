// SPDX-License-Identifier: Apache-2.0
// Numbers and names as they are shown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// A name out of a file, fit for a terminal, at most `width` columns wide.
std::string shown_name(std::string_view name, std::size_t width);
/// "2^-4", "1"
std::string shown_power(float power_of_two);
/// Four significant digits; "-" for zero.
std::string shown_number(double x);
/// "-" for none.
std::string shown_count(std::uint64_t many);

/// Columns as wide as their widest cell, the first flush left.
std::string aligned(std::vector<std::vector<std::string>> const& rows);
