// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "audit.hpp"
#include "files/text.hpp"

/// The table of an audit: a row for each of the worst tensors, and one for all.
/// @param top  how many; 0: all
void write_table(audit const& a, std::size_t top, sink const& to);
