// SPDX-License-Identifier: Apache-2.0
// All that a training run keeps between steps.
#pragma once

#include <lowp/report/update_report.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

#include "task.hpp"

namespace training {

class model_state {
 public:
  virtual ~model_state() = default;

  /// The working copy of the weights, as floats.
  virtual void read(tensors<float>& weights) const = 0;
  /// Reads the moments of an optimizer that has both, else leaves them as they are.
  virtual void read_moments(tensors<float>& first, tensors<float>& second) const = 0;
  /// Takes one step at a rate, and adds to one report for each tensor. `step` counts from 1.
  virtual void step(tensors<float> const& gradients, double lr, std::uint64_t step,
                    std::span<lowp::update_report> reports) = 0;
  /// Bytes of weights and moments, with scales and compensations; and of the gradients.
  virtual std::size_t bytes() const = 0;
  virtual std::size_t gradient_bytes() const = 0;
};

}  // namespace training
