// SPDX-License-Identifier: Apache-2.0
// Draws the magnitudes of a tensor against the range of a format, in SVG.
#pragma once

#include <string>

#include "figures.hpp"
#include "targets/targets.hpp"

/// The binary exponents from one end of a picture to the other.
struct exponent_range {
  int low, high;
};
/// All of those of `f` and of the format's, so that pictures on one page can be compared.
exponent_range range_of(figures const& f, format_facts const& to);

/// Counts the numbers of each binary exponent, on a logarithmic scale. Zones behind them show the
/// format's values: normal, subnormal, zero or beyond the largest one.
/// @param title  shown by programs that read to people; text, not markup
std::string histogram_of(figures const& f, format_facts const& to, exponent_range const& shown,
                         std::string const& title);

/// Fit for text and attributes of HTML and XML.
std::string escaped(std::string const& text);
