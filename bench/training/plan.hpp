// SPDX-License-Identifier: Apache-2.0
// The tasks, and how long and how fast each is trained.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "run.hpp"

namespace training {

/// A way to train a task.
struct rate {
  std::string_view name;
  schedule when;
  bool is_fine_tuning = false;  ///< from a model that fp32 has trained, one for all seeds
  /// Names of configurations; all if empty.
  std::vector<std::string_view> only = {};
  bool names_tensors = false;  ///< each tensor's own report is of interest
};

struct plan {
  std::string_view name;
  std::unique_ptr<task<float>> learned;
  schedule pretraining;
  std::vector<rate> rates;
};

/// @param names  of the tasks, all if empty
/// @param text, digits  files
/// @param quick  a fortieth of the steps
/// @throws std::runtime_error  a file is not what is needed, or there is no such task
std::vector<plan> plans(std::vector<std::string> const& names, std::string const& text,
                        std::string const& digits, bool quick);

}  // namespace training
