// SPDX-License-Identifier: Apache-2.0
// The ways to store a model that are compared.
#pragma once

#include <lowp/rounding.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "model_state.hpp"

namespace training {

enum class rounded { nearest, stochastic };

struct roundings {
  rounded param = rounded::nearest, first = rounded::nearest, second = rounded::nearest;

  lowp::per_slot with(lowp::stochastic const& bits) const {
    auto const mode = [&](rounded r) {
      return r == rounded::stochastic ? lowp::rounding_mode(bits)
                                      : lowp::rounding_mode(lowp::nearest_even{});
    };
    return {.param = mode(param), .first = mode(first), .second = mode(second)};
  }
};

struct configuration {
  std::string_view name, weights, moments, gradients;
  roundings how;
  std::unique_ptr<model_state> (*store)(tensors<float> const& initial, roundings const&,
                                        std::uint64_t seed);
};

/// A list for each file that instantiates updates, so that these compile side by side.
std::span<configuration const> plain_configurations();
std::span<configuration const> composite_configurations();
std::span<configuration const> moment_configurations();
std::span<configuration const> small_configurations();

std::vector<configuration> all_configurations();
/// @throws std::runtime_error  no configuration has that name
configuration configuration_named(std::string_view name);

}  // namespace training
