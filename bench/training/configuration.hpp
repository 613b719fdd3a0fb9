// SPDX-License-Identifier: Apache-2.0
// The ways to store a model that are compared.
#pragma once

#include <lowp/value.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model_state.hpp"

namespace training {

enum class rounded { nearest, stochastic };

struct roundings {
  rounded param = rounded::nearest, first = rounded::nearest, second = rounded::nearest;
  bool is_fast = false;  ///< stochastic_fast draws the bits

  bool draws() const {
    return param == rounded::stochastic || first == rounded::stochastic ||
           second == rounded::stochastic;
  }
  lowp::per_slot with(std::uint64_t seed, std::uint64_t stream) const {
    auto const mode = [&](rounded r) -> lowp::rounding_mode {
      if (r == rounded::nearest) return lowp::nearest_even{};
      if (is_fast) return lowp::stochastic_fast{.seed = seed, .stream = stream};
      return lowp::stochastic{.seed = seed, .stream = stream};
    };
    return {.param = mode(param), .first = mode(first), .second = mode(second)};
  }
};

struct configuration {
  std::string_view name, weights, moments, gradients;
  roundings how;
  std::unique_ptr<model_state> (*store)(tensors<float> const& initial, roundings const&,
                                        std::uint64_t seed);
  double rate = 1;  ///< of its optimizer, in units of AdamW's

  std::string text() const { return std::string(name) + (how.is_fast ? "-fast" : ""); }
};

/// A list for each file that instantiates updates, so that these compile side by side.
std::span<configuration const> plain_configurations();
std::span<configuration const> composite_configurations();
std::span<configuration const> moment_configurations();
std::span<configuration const> small_configurations();
std::span<configuration const> optimizer_configurations();

/// All of them. One that draws random bits follows once more, with stochastic_fast.
std::vector<configuration> all_configurations();
/// @throws std::runtime_error  no configuration has that name
configuration configuration_named(std::string_view name);

}  // namespace training
