// SPDX-License-Identifier: Apache-2.0
#include "display.hpp"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

using namespace std::chrono_literals;
constexpr auto least_interval = 100ms;
constexpr std::uint64_t plain_lines = 4;  // for each run

bool is_terminal() {
  char const* const kind = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

std::size_t terminal_width() {
  winsize size{};
  bool const is_known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? size.ws_col : 80;
}

std::string bar(std::uint64_t step, std::uint64_t steps) {
  constexpr std::size_t width = 12;
  std::string cells(width, '.');
  std::fill_n(cells.begin(), width * step / steps, '#');
  return cells;
}

std::string progress(std::uint64_t step, std::uint64_t steps) {
  std::string const whole = fmt::format("{}", steps);
  return fmt::format("{:>{}}/{}", step, whole.size(), whole);
}

}  // namespace

display::display(std::vector<mode const*> const& modes, std::uint64_t steps)
    : steps_(steps), is_live_(is_terminal()) {
  for (mode const* m : modes) lines_.emplace_back().name = m->name;
}

void display::show(std::size_t run, std::uint64_t step, std::vector<measurement> const& measured) {
  std::lock_guard const lock(mutex_);
  line& l = lines_[run];
  l.step = step;
  for (; l.measurements < measured.size(); ++l.measurements) {
    measurement const& latest = measured[l.measurements];
    l.updates += latest.updates;
    l.numbers =
        fmt::format("loss {:.3f} held out {:.3f}", latest.training_loss, latest.held_out_loss);
    if (l.updates.count != 0)
      l.numbers += fmt::format(" applied {:.3f}", l.updates.applied_ratio());
    std::uint64_t const quarter = latest.step * plain_lines / steps_;
    if (!is_live_ && l.measurements != 0 &&
        quarter != measured[l.measurements - 1].step * plain_lines / steps_)
      print_plain(l);
  }
  if (is_live_ && std::chrono::steady_clock::now() - drawn_at_ >= least_interval) redraw();
}

void display::finish() {
  std::lock_guard const lock(mutex_);
  if (is_live_) redraw();
}

void display::print_plain(line const& l) const {
  fmt::print("{:<8} {} {}\n", l.name, progress(l.step, steps_), l.numbers);
  std::fflush(stdout);
}

void display::redraw() {
  // A line that the terminal wraps would count as two on the way up.
  std::size_t const width = terminal_width() - 1;
  std::string text = is_drawn_ ? fmt::format("\x1b[{}A", lines_.size()) : "";
  for (line const& l : lines_) {
    std::string const whole =
        fmt::format("{:<8} [{}] {} {}", l.name, bar(l.step, steps_), progress(l.step, steps_),
                    l.numbers.empty() ? "waiting" : l.numbers);
    text += fmt::format("\r{}\x1b[K\n", whole.substr(0, width));
  }
  fmt::print("{}", text);
  std::fflush(stdout);
  is_drawn_ = true;
  drawn_at_ = std::chrono::steady_clock::now();
}
