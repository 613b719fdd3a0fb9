// SPDX-License-Identifier: Apache-2.0
// All that a run needs to go on as if it had never stopped: for each mode the parameters, the
// moments and the number of steps done, and the seed for all. The names of the modes and the
// vocabulary are there to refuse a file that belongs to another model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

struct checkpoint {
  struct entry {
    std::string mode;
    std::uint64_t step = 0;
    std::string state;  ///< as parameters::save() made it
  };

  std::uint64_t seed = 0;
  std::string vocabulary;
  std::vector<entry> entries;

  /// @throws problem  no entry has that mode
  entry const& at(std::string_view mode) const;
};

std::string to_bytes(checkpoint const& c);
/// @throws problem  the file is missing, damaged, or not a checkpoint
checkpoint read_checkpoint(std::string const& path);
