// SPDX-License-Identifier: Apache-2.0
// A model in another format.
#pragma once

#include <cstdint>

#include "model.hpp"
#include "options.hpp"
#include "progress.hpp"

struct conversion_report {
  std::uint64_t converted = 0, copied = 0, scaled = 0;  ///< tensors
  std::uint64_t overflow = 0, flushed = 0;              ///< values, as rounding to nearest has them
  std::uint64_t bytes_before = 0, bytes_after = 0;      ///< of all tensors
};

/// Writes o.out, whole or not at all; a sharded model becomes one file. The bits do not depend on how
/// a model is sharded: a tensor's random bits are those of its number among all names in order.
conversion_report convert(model const& from, convert_options const& o, progress& bar);
