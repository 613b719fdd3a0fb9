// SPDX-License-Identifier: Apache-2.0
// A task that loss scaling decides: gradients in 16 bits of a loss that counts little, as an
// auxiliary one does. Weights and moments are fp32, and the gradient is rounded once, when it is
// stored. A backward pass in 16 bits would lose more on its way.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "run.hpp"

namespace training {

struct scaled_outcome {
  double held_out;
  double underflowed;      ///< share of gradient elements that were stored as 0 and are not
  std::uint64_t skipped;   ///< steps
  float scale;             ///< in the end
  std::string overflowed;  ///< the tensor that did last, with the step; empty if none did
};

struct gradient_storage {
  std::string_view name;
  float scale;      ///< of the loss, to begin with
  bool is_dynamic;  ///< else the scale stays
  scaled_outcome (*run)(task<float> const& learned, schedule const& when, std::uint64_t seed,
                        double loss_weight, gradient_storage const&);
};

std::span<gradient_storage const> gradient_storages();

}  // namespace training
