// SPDX-License-Identifier: Apache-2.0
// The program but for its process: what main() calls, and the tests.
#pragma once

#include <atomic>
#include <cstdio>
#include <string>
#include <vector>

namespace judge {

/// The program's exit status, as of diff(1).
enum class status { named = 0, unknown = 1, trouble = 2, interrupted = 130 };

/// Set by a signal: the program ends soon, and leaves no file behind.
inline std::atomic<bool> stop = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // so that a signal handler may set it

/// @param arguments  without the name of the program
/// @param err        gets one line if the result is trouble
status run(std::vector<std::string> arguments, std::FILE* out, std::FILE* err);

}  // namespace judge
