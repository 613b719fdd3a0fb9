// SPDX-License-Identifier: Apache-2.0
// Mixed precision or pure bfloat16: one task, and the weights kept in three ways, with fp32 and
// with bfloat16 to nearest for comparison.
#pragma once

#include <lowp/lowp.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/model.hpp"
#include "train/text.hpp"

namespace cases {

inline constexpr std::uint64_t mixed_steps = 600;
inline constexpr std::uint64_t micro_batches = 4;
inline constexpr double mixed_rate = 3e-4;

struct mixed_run {
  std::string_view name;
  std::size_t bytes;    ///< a weight, with float gradient and moments
  std::size_t scratch;  ///< and for a weight of the layer in use
  double held_out;      ///< loss, nats per byte
  double applied;       ///< applied ratio
};

/// fp32 weights that the model computes with as they are.
struct fp32_weights {
  std::span<float> weights;
  static constexpr std::size_t bytes = sizeof(float), scratch_bytes = 0;
  std::span<float> storage() const { return weights; }
  std::span<float const> working(std::span<lowp::bfloat16> = {}) const { return weights; }
};

/// fp32 weights, cast per use of a layer: FSDP's MixedPrecision(param_dtype).
struct cast_per_use {
  std::span<float> weights;
  static constexpr std::size_t bytes = sizeof(float), scratch_bytes = sizeof(lowp::bfloat16);
  std::span<float> storage() const { return weights; }
  std::span<lowp::bfloat16 const> working(std::span<lowp::bfloat16> scratch) const {
    lowp::cast(weights, scratch);
    return scratch;
  }
};

/// fp32 weights, and a copy for all micro-batches that an update writes in its own pass: Megatron's
/// Float16OptimizerWithFloat16Params.
struct cached_copy {
  std::span<float> weights;
  std::span<lowp::bfloat16> copy;
  static constexpr std::size_t bytes = sizeof(float) + sizeof(lowp::bfloat16), scratch_bytes = 0;
  auto storage() const { return lowp::master{weights, copy}; }
  std::span<lowp::bfloat16 const> working(std::span<lowp::bfloat16> = {}) const { return copy; }
};

/// Only narrow weights.
struct pure {
  std::span<lowp::bfloat16> weights;
  static constexpr std::size_t bytes = sizeof(lowp::bfloat16), scratch_bytes = 0;
  std::span<lowp::bfloat16> storage() const { return weights; }
  std::span<lowp::bfloat16 const> working(std::span<lowp::bfloat16> = {}) const { return weights; }
};

/// The vectors behind the spans of a set-up.
template <class Setup>
struct kept_tensor;
template <>
struct kept_tensor<fp32_weights> {
  explicit kept_tensor(std::vector<float> const& initial) : weights(initial) {}
  fp32_weights setup() { return {weights}; }
  std::vector<float> weights;
};
template <>
struct kept_tensor<cast_per_use> {
  explicit kept_tensor(std::vector<float> const& initial) : weights(initial) {}
  cast_per_use setup() { return {weights}; }
  std::vector<float> weights;
};
template <>
struct kept_tensor<cached_copy> {
  explicit kept_tensor(std::vector<float> const& initial) : weights(initial), copy(initial.size()) {
    lowp::cast(weights, copy);
  }
  cached_copy setup() { return {weights, copy}; }
  std::vector<float> weights;
  std::vector<lowp::bfloat16> copy;
};
template <>
struct kept_tensor<pure> {
  explicit kept_tensor(std::vector<float> const& initial) : weights(initial.size()) {
    lowp::cast(initial, weights);
  }
  pure setup() { return {weights}; }
  std::vector<lowp::bfloat16> weights;
};

template <class Setup>
mixed_run train_mixed(std::string_view name, text const& data, bool is_stochastic) {
  constexpr std::uint64_t seed = 1;
  model_shape const shape = shape_of_model(data.vocabulary().size());
  tensors const initial = initial_weights(shape, seed);
  std::vector<kept_tensor<Setup>> kept;
  for (std::vector<float> const& values : initial) kept.emplace_back(values);
  tensors weights = initial, gradients, sum, first = initial, second = initial;
  for (std::size_t t = 0; t < tensor_count; ++t) {
    first[t].assign(first[t].size(), 0);
    second[t].assign(second[t].size(), 0);
  }

  auto const read = [&] {
    for (std::size_t t = 0; t < tensor_count; ++t) {
      std::vector<lowp::bfloat16> scratch(Setup::scratch_bytes > 0 ? weights[t].size() : 0);
      lowp::cast(kept[t].setup().working(scratch), weights[t]);
    }
  };
  lowp::update_report report;
  for (std::uint64_t step = 1; step <= mixed_steps; ++step) {
    for (std::uint64_t micro = 0; micro < micro_batches; ++micro) {
      read();
      batch const b = data.training_batch(seed, step * micro_batches + micro, 32);
      differentiate(weights, shape, b, gradients);
      if (micro == 0) sum = gradients;
      for (std::size_t t = 0; t < tensor_count && micro > 0; ++t)
        lowp::fused_add(sum[t], 1.0f, gradients[t]);
    }
    double const done = static_cast<double>(step - 1) / static_cast<double>(mixed_steps);
    lowp::adamw const optimizer{.lr = mixed_rate * (1 + std::cos(std::numbers::pi * done)) / 2};
    for (std::uint32_t t = 0; t < tensor_count; ++t) {
      lowp::per_slot how{.param = lowp::nearest_even{}};
      if (is_stochastic) how.param = lowp::stochastic{seed, lowp::stream_of(t, 0)};
      lowp::update(kept[t].setup().storage(), sum[t], first[t], second[t], optimizer, step, how,
                   report);
    }
  }
  read();
  return {name, Setup::bytes + 3 * sizeof(float), Setup::scratch_bytes,
          loss_of(weights, shape, data.held_out_sample(1024)), report.applied_ratio()};
}

inline std::vector<mixed_run> run_mixed(std::string const& path) {
  text const data(path);
  return {train_mixed<fp32_weights>("fp32 throughout", data, false),
          train_mixed<cast_per_use>("mixed, cast per use", data, false),
          train_mixed<cached_copy>("mixed, cached copy", data, false),
          train_mixed<pure>("pure bf16, stochastic", data, true),
          train_mixed<pure>("pure bf16, nearest", data, false)};
}

}  // namespace cases
