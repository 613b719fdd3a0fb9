// SPDX-License-Identifier: Apache-2.0
#include "pages/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "files/problem.hpp"
#include "program.hpp"

namespace {

using namespace std::chrono_literals;
constexpr auto least_interval = 100ms;

bool is_terminal(std::FILE* file) {
  char const* const kind = std::getenv("TERM");
  return ::isatty(::fileno(file)) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

}  // namespace

progress::progress(std::FILE* to, std::string label)
    : to_(to), label_(std::move(label)), is_live_(is_terminal(to)) {}

progress::~progress() {
  if (!is_drawn_) return;
  std::fputs("\r\x1b[K", to_);
  std::fflush(to_);
}

void progress::add(std::uint64_t bytes) {
  if (stop) throw interruption();
  done_ += bytes;
  auto const now = std::chrono::steady_clock::now();
  if (!is_live_ || now - drawn_at_ < least_interval) return;
  drawn_at_ = now;
  draw();
}

void progress::draw() {
  constexpr std::size_t width = 24;
  double const share =
      all_ == 0 ? 1 : std::min(1.0, static_cast<double>(done_) / static_cast<double>(all_));
  std::string cells(width, '.');
  std::fill_n(cells.begin(), static_cast<std::size_t>(share * width), '#');
  // The label is short: 80 columns hold the line.
  std::string const line = fmt::format("\r{} [{}] {:3.0f} % of {:.1f} MB\x1b[K", label_, cells,
                                       100 * share, static_cast<double>(all_) / 1e6);
  std::fputs(line.c_str(), to_);
  std::fflush(to_);
  is_drawn_ = true;
}
