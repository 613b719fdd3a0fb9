// SPDX-License-Identifier: Apache-2.0
// Inputs that tell all rules apart.
#pragma once

#include <cstdint>
#include <vector>

#include "formats.hpp"

namespace judge {

/// Returns the codes of `from`, ascending: all if it has at most 16 bits. Else every boundary
/// between two results of `to` with its neighbours, powers of two, NaNs, and random ones.
std::vector<std::uint64_t> inputs_for(number_type const& from, number_type const& to);

/// Returns values in runs of `repeats`: between two neighbours of `to`, and on them.
std::vector<std::uint64_t> stochastic_inputs_for(number_type const& from, number_type const& to,
                                                 std::uint64_t repeats);

/// A random number from a position: the same on every machine.
std::uint64_t mixed(std::uint64_t x);

}  // namespace judge
