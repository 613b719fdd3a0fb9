// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "audit.hpp"

/// What an audit found: a row for each of the worst tensors, and one for all.
/// @param top  how many; 0: all
std::string table_of(audit const& a, std::size_t top);
