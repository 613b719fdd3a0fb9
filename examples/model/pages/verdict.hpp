// SPDX-License-Identifier: Apache-2.0
// Decides if a model fits, and says it in words.
#pragma once

#include <string>

#include "audit.hpp"

struct verdict {
  bool fits = false;
  std::string text;  ///< one line
};

/// @param is_scaled  whether each tensor may have the scale that was found for it
/// @param flushed    the share of a tensor that may be flushed
verdict verdict_on(audit const& a, bool is_scaled, double flushed);
