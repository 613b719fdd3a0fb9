// SPDX-License-Identifier: Apache-2.0
// A model in another format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "files/model.hpp"
#include "options.hpp"
#include "pages/progress.hpp"

/// The loss of values by rounding to nearest; of a tensor or of all.
struct losses {
  std::uint64_t overflow = 0, flushed = 0;
  std::uint64_t lacking = 0;  ///< infinities and NaN that the format lacks

  [[nodiscard]] std::uint64_t all() const { return overflow + flushed + lacking; }
  [[nodiscard]] bool are_some() const { return all() != 0; }
  losses& operator+=(losses const& other) {
    overflow += other.overflow;
    flushed += other.flushed;
    lacking += other.lacking;
    return *this;
  }
};

/// A tensor that loses some.
struct tensor_losses {
  std::string name;
  float scale = 1;
  std::uint64_t count = 0;
  losses lost;
};

struct conversion_report {
  std::uint64_t converted = 0, copied = 0, scaled = 0;  ///< tensors
  losses lost;                                          ///< of all
  std::vector<tensor_losses> losing;                    ///< most values first
  std::uint64_t bytes_before = 0, bytes_after = 0;      ///< of all tensors
};

/// Writes o.out, whole or not at all; a sharded model becomes one file. The bits do not depend on
/// how a model is sharded: a tensor's random bits are those of its number among all names in order.
conversion_report convert(model const& from, convert_options const& o, progress& bar);

/// Lists the losses, a line each; empty if there are none.
std::string losses_of(conversion_report const& r);
