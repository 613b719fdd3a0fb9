// SPDX-License-Identifier: Apache-2.0
// Whether a model fits, and in words.
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
