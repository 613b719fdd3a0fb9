// SPDX-License-Identifier: Apache-2.0
// The program but for its process: what main() calls, and the tests.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "model/files/way_out.hpp"  // stop, which ends what is at work

namespace judge {

/// The program's exit status, as of diff(1).
enum class status { named = 0, unknown = 1, trouble = 2, interrupted = 130 };

/// @param arguments  without the name of the program
/// @param err        gets one line if the result is trouble
status run(std::vector<std::string> arguments, std::FILE* out, std::FILE* err);

}  // namespace judge
