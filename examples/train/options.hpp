// SPDX-License-Identifier: Apache-2.0
// Parses the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "training.hpp"

struct options {
  std::string text;
  std::uint64_t steps = 1200;
  std::optional<std::uint64_t> stop_at, seed;
  double learning_rate = 3e-4;
  std::vector<std::string> modes;                          ///< empty: all
  unsigned threads = 0;                                    ///< 0: as many as processors
  std::string csv, svg = "train.svg", checkpoint, resume;  ///< empty: none
};

/// Empty if the user asked for --help alone, which is answered then.
/// @throws problem  there is no such option, or a value is out of its range
std::optional<options> parse(int argc, char** argv);
