// SPDX-License-Identifier: Apache-2.0
// The ways to store weights that the program compares.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "parameters.hpp"

struct mode {
  std::string_view name, format;
  bool is_stochastic, is_scaled;
  std::string_view colour;
  /// Initial weights are rounded to nearest in every mode.
  std::unique_ptr<parameters> (*store)(model_shape const&, tensors const& initial, storage const&);
};

std::span<mode const> all_modes();
/// "fp32, bf16, ..."
std::string names_of_modes();
/// @throws problem  no mode has that name
mode const& mode_named(std::string_view name);
