// SPDX-License-Identifier: Apache-2.0
#include "pages/histogram.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace {

constexpr double width = 640, height = 120, left = 8, right = 8, top = 10, bottom = 20;

class axis {
 public:
  explicit axis(exponent_range const& shown)
      : low_(shown.low), step_((width - left - right) / (shown.high - shown.low + 1)) {}

  // The start of the numbers of an exponent; they are one step wide.
  [[nodiscard]] double at(double exponent) const {
    double const x = left + step_ * (exponent - low_);
    return std::clamp(x, left, width - right);
  }
  [[nodiscard]] double step() const { return step_; }

 private:
  int low_;
  double step_;
};

std::string zone(axis const& a, double from, double to, char const* name, char const* words) {
  double const x = a.at(from), wide = a.at(to) - x;
  if (wide <= 0) return "";
  return fmt::format(
      "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\">"
      "<title>{}</title></rect>\n",
      name, x, top, wide, height - top - bottom, words);
}

// Empty if there is no room.
std::string zone_name(axis const& a, double from, double to, char const* words) {
  double const x = a.at(from), wide = a.at(to) - x;
  if (wide < 70) return "";
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\">{}</text>\n", x + 4, top + 12, words);
}

std::string zones(axis const& a, format_facts const& to, exponent_range const& shown) {
  // The exponents at which rounding to nearest begins to give something else than zero, and to
  // overflow.
  double const kept = std::log2(to.smallest) - 1;
  double const beyond = std::log2(to.largest);
  return zone(a, shown.low, kept, "flushed", "flushed to zero") +
         zone(a, kept, to.min_exponent, "subnormal", "subnormal") +
         zone(a, to.min_exponent, beyond, "normal", "normal") +
         zone(a, beyond, shown.high + 1, "overflow", "overflow") +
         zone_name(a, shown.low, kept, "flushed to zero") +
         zone_name(a, kept, to.min_exponent, "subnormal") +
         zone_name(a, to.min_exponent, beyond, "normal") +
         zone_name(a, beyond, shown.high + 1, "overflow");
}

std::string bars(axis const& a, figures const& f) {
  std::uint64_t most = 1;
  for (std::uint64_t const each : f.exponents) most = std::max(most, each);
  auto const tall = [](std::uint64_t many) { return std::log2(1 + static_cast<double>(many)); };
  double const room = height - top - bottom, scale = room / tall(most);
  std::string svg;
  for (std::size_t i = 0; i < f.exponents.size(); ++i) {
    if (f.exponents[i] == 0) continue;
    int const exponent = f.lowest + static_cast<int>(i);
    double const high = scale * tall(f.exponents[i]);
    svg += fmt::format(
        "<rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\">"
        "<title>2^{}: {}</title></rect>\n",
        a.at(exponent) + 0.1 * a.step(), height - bottom - high, 0.8 * a.step(), high, exponent,
        f.exponents[i]);
  }
  return svg;
}

// Multiples of a power of two, at most ten of them.
std::string ticks(axis const& a, exponent_range const& shown) {
  int distance = 1;
  while ((shown.high - shown.low) / distance > 10) distance *= 2;
  std::string svg;
  // None is cut off at an end.
  double const air = 16 / a.step();
  for (int e = shown.low; e <= shown.high; ++e)
    if (e % distance == 0 && e > shown.low + air && e < shown.high - air)
      svg += fmt::format(
          "<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\">2<tspan dy=\"-3\" "
          "font-size=\"8\">{}</tspan></text>\n",
          a.at(e), height - 6, e);
  return svg;
}

}  // namespace

exponent_range range_of(figures const& f, format_facts const& to) {
  constexpr int air = 3;
  exponent_range r{to.min_exponent - to.significand_bits - air, to.max_exponent + air};
  if (!f.exponents.empty()) r = {std::min(r.low, f.lowest), std::max(r.high, f.highest())};
  return r;
}

std::string histogram_of(figures const& f, format_facts const& to, exponent_range const& shown,
                         std::string const& title) {
  axis const a(shown);
  // The colours are here too, so that a picture shows them outside of its page.
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\" "
             "font-family=\"sans-serif\" font-size=\"11\">\n<title>{}</title>\n"
             "<style>.flushed{{fill:#f3c6bd}}.subnormal{{fill:#f8e7b5}}.normal{{fill:#d9ecd9}}"
             ".overflow{{fill:#e8b4c8}}.bar{{fill:#24476b}}svg text{{fill:#505050}}</style>\n",
             width, height, escaped(title)) +
         zones(a, to, shown) + bars(a, f) + ticks(a, shown) + "</svg>\n";
}

std::string escaped(std::string const& text) {
  std::string out;
  for (char const c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}
