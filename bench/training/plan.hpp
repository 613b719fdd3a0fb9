// SPDX-License-Identifier: Apache-2.0
// The tasks, and how long and how fast each is trained.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "run.hpp"

namespace training {

/// Each run starts either from random weights at a normal learning rate, or at a small one from a
/// model that fp32 has trained for a while: fine-tuning, one such model for all seeds.
struct plan {
  std::string_view name;
  std::unique_ptr<task<float>> learned;
  schedule normal, pretraining, small;
};

/// @param names  of the tasks, all if empty
/// @param text, digits  files
/// @param quick  a fortieth of the steps
/// @throws std::runtime_error  a file is not what is needed, or there is no such task
std::vector<plan> plans(std::vector<std::string> const& names, std::string const& text,
                        std::string const& digits, bool quick);

}  // namespace training
