// SPDX-License-Identifier: Apache-2.0
// The results as text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "training.hpp"

using trainings = std::vector<std::unique_ptr<training>>;

/// A row for each mode, and the meaning of the columns.
std::string table_of(trainings const& runs);

/// A line for each measurement. Stalled and applied are of the steps since the line before, and
/// empty in the first line of a mode.
std::string csv_of(trainings const& runs);
