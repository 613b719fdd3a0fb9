// SPDX-License-Identifier: Apache-2.0
// Loss curves as an SVG: two panels side by side with one legend.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

struct point {
  double x, y;
};

struct curve {
  std::string name, colour;
  bool is_dashed, is_reference;  ///< a reference is a broad line underneath the others
  std::vector<point> panels[2];
};

struct picture {
  std::string title, x_label, y_label;
  std::array<std::string, 2> panel_titles;
  double x_max;
  std::vector<curve> curves;
};

inline constexpr int picture_width = 960, picture_height = 420;

struct interval {
  double low, high;
};
/// The range of all finite values, which are all that can be drawn, with some air.
interval range_of_y(picture const& p);

/// Lengths on, off, on, off along dashed curve `c`; empty for a solid one. Dashed curves that
/// coincide fill gaps of each other, so that all can be seen.
std::vector<double> dashes_of(picture const& p, std::size_t c);

/// Needs nothing.
std::string draw_plain(picture const& p);
/// Empty if gnuplot is not installed or fails.
std::string draw_with_gnuplot(picture const& p);
