// SPDX-License-Identifier: Apache-2.0
// The results as text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "training.hpp"

using trainings = std::vector<std::unique_ptr<training>>;

/// One row for each mode, and what the columns mean.
std::string table_of(trainings const& runs);

/// One line for each measurement. Stalled and applied are of the steps since the line before, and
/// empty in the first line of a mode.
std::string csv_of(trainings const& runs);
