// SPDX-License-Identifier: Apache-2.0
#include "picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace {

struct rectangle {
  double left, top, right, bottom;
};
constexpr rectangle panels[] = {{66, 84, 416, 360}, {470, 84, 820, 360}};

// From the units of the data to those of the page.
struct axes {
  rectangle on;
  double x_max;
  interval y;

  double to_x(double x) const { return on.left + (on.right - on.left) * x / x_max; }
  double to_y(double v) const {
    return on.bottom - (on.bottom - on.top) * (v - y.low) / (y.high - y.low);
  }
};

// The smallest of 1, 2, 5, 10, 20, ... or tenths of them that cuts `length` into at most 6.
double distance_of_ticks(double length) {
  double const decade = std::pow(10, std::floor(std::log10(length / 6)));
  for (double const factor : {1, 2, 5})
    if (length / (factor * decade) <= 6) return factor * decade;
  return 10 * decade;
}

std::string line(double x0, double y0, double x1, double y1, char const* colour) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x0, y0, x1,
      y1, colour);
}

std::string label(double x, double y, char const* anchor, std::string const& text,
                  std::string const& more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, more, text);
}

std::string style_of(picture const& p, std::size_t c) {
  return fmt::format(
      "fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\""
      " stroke-dasharray=\"{}\"",
      p.curves[c].colour, p.curves[c].is_reference ? 5 : 1.8,
      p.curves[c].is_dashed ? fmt::format("{}", fmt::join(dashes_of(p, c), ",")) : "none");
}

std::string frame(axes const& a) {
  constexpr char const* grid = "#e4e4e4";
  constexpr char const* border = "#606060";
  std::string svg;
  double const x_step = distance_of_ticks(a.x_max);
  for (double i = 0; i * x_step <= a.x_max; ++i) {
    double const x = a.to_x(i * x_step);
    svg += line(x, a.on.top, x, a.on.bottom, grid);
    svg += line(x, a.on.bottom, x, a.on.bottom + 5, border);
    svg += label(x, a.on.bottom + 20, "middle", fmt::format("{:g}", i * x_step));
  }
  double const y_step = distance_of_ticks(a.y.high - a.y.low);
  for (double i = std::ceil(a.y.low / y_step); i * y_step <= a.y.high; ++i) {
    double const y = a.to_y(i * y_step);
    svg += line(a.on.left, y, a.on.right, y, grid);
    svg += line(a.on.left - 5, y, a.on.left, y, border);
    svg += label(a.on.left - 9, y + 4.5, "end", fmt::format("{:g}", i * y_step));
  }
  svg += line(a.on.left, a.on.bottom, a.on.right, a.on.bottom, border);
  return svg + line(a.on.left, a.on.top, a.on.left, a.on.bottom, border);
}

std::string drawn(picture const& p, std::size_t c, std::size_t panel, axes const& a) {
  std::string points;
  for (point const& at : p.curves[c].panels[panel])
    if (std::isfinite(at.y)) points += fmt::format("{:.1f},{:.1f} ", a.to_x(at.x), a.to_y(at.y));
  return fmt::format("<polyline {} points=\"{}\"/>\n", style_of(p, c), points);
}

std::string legend(picture const& p) {
  std::string svg;
  double y = panels[1].top + 6;
  for (std::size_t c = 0; c < p.curves.size(); ++c, y += 22) {
    svg += fmt::format("<polyline {} points=\"840,{:.1f} 882,{:.1f}\"/>\n", style_of(p, c), y, y);
    svg += label(890, y + 4.5, "start", p.curves[c].name);
  }
  return svg;
}

}  // namespace

interval range_of_y(picture const& p) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (curve const& c : p.curves) {
    for (auto const& panel : c.panels) {
      for (point const& at : panel) {
        if (!std::isfinite(at.y)) continue;
        low = std::min(low, at.y);
        high = std::max(high, at.y);
      }
    }
  }
  if (low > high) return {0, 1};
  double const air = high > low ? 0.04 * (high - low) : 0.5;
  return {low - air, high + air};
}

std::vector<double> dashes_of(picture const& p, std::size_t c) {
  if (!p.curves[c].is_dashed) return {};
  auto const is_dashed = [](curve const& other) { return other.is_dashed; };
  auto const self = p.curves.begin() + static_cast<std::ptrdiff_t>(c);
  auto const before = std::count_if(p.curves.begin(), self, is_dashed);
  auto const places =
      std::max<std::ptrdiff_t>(2, std::count_if(p.curves.begin(), p.curves.end(), is_dashed));
  // gnuplot takes a 0 for the end of the list.
  constexpr double length = 7, nothing = 0.01;
  return {nothing, std::max(nothing, length * static_cast<double>(before)), length,
          std::max(nothing, length * static_cast<double>(places - 1 - before))};
}

std::string draw_plain(picture const& p) {
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#202020\">\n"
      "<title>{2}</title>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
      picture_width, picture_height, p.title);
  svg += label(picture_width / 2.0, 30, "middle", p.title, " font-size=\"15\"");
  for (std::size_t i = 0; i < 2; ++i) {
    axes const a{panels[i], p.x_max, range_of_y(p)};
    double const middle = (a.on.left + a.on.right) / 2;
    svg += frame(a);
    for (std::size_t c = 0; c < p.curves.size(); ++c) svg += drawn(p, c, i, a);
    svg += label(middle, a.on.top - 16, "middle", p.panel_titles[i]);
    svg += label(middle, a.on.bottom + 42, "middle", p.x_label);
  }
  double const middle = (panels[0].top + panels[0].bottom) / 2;
  svg += label(20, middle, "middle", p.y_label,
               fmt::format(" transform=\"rotate(-90 20 {:.1f})\"", middle));
  return svg + legend(p) + "</svg>\n";
}
