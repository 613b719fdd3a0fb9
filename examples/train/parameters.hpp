// SPDX-License-Identifier: Apache-2.0
// State of a training run between steps: parameters in a narrow format, and AdamW's moments.
#pragma once

#include <cstdint>
#include <lowp/report/update_report.hpp>
#include <lowp/train/update.hpp>
#include <string>
#include <string_view>

#include "model.hpp"

/// The way from parameters to codes.
struct storage {
  bool is_stochastic = false;  ///< else to nearest even
  bool is_scaled = false;      ///< p is stored as p * 2^k, k fixed for each tensor
  std::uint64_t seed = 0;      ///< of stochastic rounding
};

class parameters {
 public:
  virtual ~parameters() = default;

  /// The parameters as the model computes with them.
  virtual void read(tensors& weights) const = 0;
  /// Takes a step of AdamW at every tensor. `step` counts from 1.
  virtual lowp::update_report step(tensors const& gradients, lowp::adamw const& optimizer,
                                   std::uint64_t step) = 0;
  virtual std::size_t bytes_per_parameter() const = 0;
  /// Counts the stored codes that still are those of the start.
  virtual std::size_t unchanged() const = 0;

  /// Parameters and moments, byte by byte.
  virtual std::string save() const = 0;
  /// False unless save() made `state` for this format and shape.
  virtual bool load(std::string_view state) = 0;
};
