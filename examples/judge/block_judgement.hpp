// SPDX-License-Identifier: Apache-2.0
// Finds the recipe and the layout of codes with scales of blocks.
#pragma once

#include <string>

#include "options.hpp"

namespace judge {

struct block_verdict {
  bool is_named = false;
  std::string text;
};
block_verdict judge_blocks(blocks_options const& o);

}  // namespace judge
