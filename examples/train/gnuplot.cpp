// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <string>

#include "picture.hpp"

namespace {

std::string data_of(picture const& p) {
  std::string text;
  for (std::size_t c = 0; c < p.curves.size(); ++c) {
    for (std::size_t panel = 0; panel < 2; ++panel) {
      text += fmt::format("$curve_{}_{} << END\n", c, panel);
      for (point const& at : p.curves[c].panels[panel]) text += fmt::format("{} {}\n", at.x, at.y);
      text += "END\n";
    }
  }
  return text;
}

std::string plot_of(picture const& p, std::size_t panel) {
  // The right panel shows the legend, for both. Its place and all margins are shares of the page.
  double const left = panel == 0 ? 0.085 : 0.495;
  std::string text = fmt::format(
      "set lmargin at screen {}; set rmargin at screen {}\n"
      "set tmargin at screen 0.8; set bmargin at screen 0.17\n"
      "set title '{}'; set xlabel '{}' offset 0,0.4; set ylabel '{}' offset 1.5,0\n"
      "{}\nplot ",
      left, left + 0.36, p.panel_titles[panel], p.x_label, panel == 0 ? p.y_label : "",
      panel == 0 ? "unset key" : "set key at screen 0.985, 0.82 right top Left reverse samplen 3");
  for (std::size_t c = 0; c < p.curves.size(); ++c)
    text += fmt::format(
        "{}$curve_{}_{} with lines lc rgb '{}' lw {} dt {} title '{}'", c == 0 ? "" : ", ", c,
        panel, p.curves[c].colour, p.curves[c].is_reference ? 5 : 1.8,
        p.curves[c].is_dashed ? fmt::format("({})", fmt::join(dashes_of(p, c), ",")) : "solid",
        p.curves[c].name);
  return text + "\n";
}

std::string script_of(picture const& p) {
  interval const y = range_of_y(p);
  return fmt::format(
             "set terminal svg noenhanced size {},{} font 'sans-serif,13' background '#ffffff'\n"
             "set multiplot title '{}' font ',15'\n"
             "set border 3 lc rgb '#606060'; set tics nomirror out scale 0.6 textcolor '#202020'\n"
             "set grid lt 1 lw 1 lc rgb '#e4e4e4'\n"
             "set xrange [0:{}]; set yrange [{}:{}]\n",
             picture_width, picture_height, p.title, p.x_max, y.low, y.high) +
         data_of(p) + plot_of(p, 0) + plot_of(p, 1) + "unset multiplot\n";
}

std::string contents(std::FILE* file) {
  std::string text;
  std::rewind(file);
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  return text;
}

}  // namespace

std::string draw_with_gnuplot(picture const& p) {
  // A file without a name: nothing to quote for the shell, and nothing to clean up.
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const drawn(std::tmpfile(), std::fclose);
  if (drawn == nullptr) return "";
  // If gnuplot is missing or gives up, writing to it must not end this program.
  auto const before = std::signal(SIGPIPE, SIG_IGN);
  std::string const command =
      fmt::format("exec 2>/dev/null; exec gnuplot >/dev/fd/{}", ::fileno(drawn.get()));
  std::FILE* const script = ::popen(command.c_str(), "w");
  bool is_drawn = script != nullptr && std::fputs(script_of(p).c_str(), script) >= 0;
  if (script != nullptr) is_drawn = ::pclose(script) == 0 && is_drawn;
  std::signal(SIGPIPE, before);

  std::string svg = is_drawn ? contents(drawn.get()) : "";
  return svg.find("</svg>") == std::string::npos ? "" : svg;
}
