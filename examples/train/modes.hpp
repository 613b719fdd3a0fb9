// SPDX-License-Identifier: Apache-2.0
// The ways to store weights that the program compares.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "parameters.hpp"

/// How codes are made from parameters.
struct storage {
  bool is_stochastic = false;  ///< else to nearest even
  bool is_scaled = false;      ///< p is stored as p * 2^k, k fixed for each tensor
  std::uint64_t seed = 0;      ///< of stochastic rounding
};

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
/// @throws problem  there is none of that name
mode const& mode_named(std::string_view name);
