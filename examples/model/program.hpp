// SPDX-License-Identifier: Apache-2.0
// The program but for its process: what main() calls, and the tests.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "files/way_out.hpp"  // stop, which ends what is at work

/// The program's exit status, as of diff(1).
enum class status { yes = 0, no = 1, trouble = 2, interrupted = 130 };

/// @param arguments  without the name of the program
/// @param err        one line where the result is trouble; the progress where it is a terminal
status run(std::vector<std::string> arguments, std::FILE* out, std::FILE* err);
