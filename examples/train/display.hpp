// SPDX-License-Identifier: Apache-2.0
// Shows the state of the runs: on a terminal one line for each, rewritten in place; elsewhere a
// plain line now and then.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "training.hpp"

class display {
 public:
  display(std::vector<mode const*> const& modes, std::uint64_t steps);

  /// Run number `run` is after `step`. May be called from several threads.
  void show(std::size_t run, std::uint64_t step, std::vector<measurement> const& measured);
  /// Draws for the last time.
  void finish();

 private:
  struct line {
    std::string name;
    std::uint64_t step = 0;
    std::size_t measurements = 0;
    std::string numbers;
    lowp::update_report updates;
  };

  void print_plain(line const& l) const;
  void redraw();

  std::mutex mutex_;
  std::vector<line> lines_;
  std::uint64_t steps_;
  bool is_live_;
  bool is_drawn_ = false;
  std::chrono::steady_clock::time_point drawn_at_{};
};
