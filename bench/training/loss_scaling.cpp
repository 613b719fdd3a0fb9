// SPDX-License-Identifier: Apache-2.0
#include "loss_scaling.hpp"

#include <lowp/lowp.hpp>
#include <lowp/update.hpp>

#include <concepts>
#include <string>
#include <utility>
#include <vector>

#include "schedule.hpp"

namespace training {

namespace {

constexpr std::uint32_t growth_interval = 50;  // the runs are shorter than those of the default

template <class G>
scaled_outcome run_with(task<float> const& learned, schedule const& when, std::uint64_t seed,
                        double loss_weight, gradient_storage const& stored) {
  std::vector<tensor_shape> const& shapes = learned.shapes();
  tensors<float> weights = initial_weights<float>(shapes, seed);
  tensors<float> gradients = zeros<float>(shapes), first = gradients, second = gradients;
  std::vector<std::vector<G>> codes;
  for (tensor_shape const& shape : shapes) codes.emplace_back(shape.size());

  lowp::loss_scaler scaler{.scale = stored.scale, .growth_interval = growth_interval};
  scaled_outcome result{};
  std::uint64_t steps_taken = 0, lost = 0, all = 0;
  for (std::uint64_t step = 1; step <= when.steps; ++step) {
    learned.differentiate(weights, seed, step, gradients);
    for (std::size_t t = 0; t < shapes.size(); ++t) {
      float const factor = static_cast<float>(loss_weight) * scaler.scale;
      lowp::scaled_cast(gradients[t], codes[t], factor);
      scaler.observe(shapes[t].name, lowp::measure(codes[t]));
      for (std::size_t i = 0; i < codes[t].size(); ++i)
        lost += gradients[t][i] != 0 && codes[t][i] == G(0);
      all += codes[t].size();
    }
    if (!scaler.found_nonfinite()) {
      // Its smallest denominator shrinks with the loss, so that in fp32 the weight changes nothing.
      lowp::adamw const optimizer{.lr = rate_at(step, when), .eps = 1e-8 * loss_weight};
      ++steps_taken;
      for (std::size_t t = 0; t < shapes.size(); ++t) {
        if constexpr (std::same_as<G, float>)
          lowp::update(weights[t], codes[t], first[t], second[t], optimizer, steps_taken);
        else
          lowp::update(weights[t], lowp::scaled{std::as_const(codes[t]), scaler.scale}, first[t],
                       second[t], optimizer, steps_taken);
      }
    }
    float const before = scaler.scale;
    scaler.update();
    if (!stored.is_dynamic) scaler.scale = before;
  }
  result.held_out = learned.held_out_loss(weights);
  result.underflowed = static_cast<double>(lost) / static_cast<double>(all);
  result.skipped = scaler.skipped;
  result.scale = scaler.scale;
  if (scaler.overflow.step != 0)
    result.overflowed =
        std::string(scaler.overflow.tensor) + " in step " + std::to_string(scaler.overflow.step);
  return result;
}

constexpr bool fixed = false, dynamic = true;

constexpr gradient_storage list[] = {
    {"fp32", 1, fixed, run_with<float>},
    {"bf16", 1, fixed, run_with<lowp::bfloat16>},
    {"fp16", 1, fixed, run_with<lowp::float16>},
    {"fp16, loss times 2^30", 0x1p30f, fixed, run_with<lowp::float16>},
    {"fp16, dynamic loss scale", 65536, dynamic, run_with<lowp::float16>},
};

}  // namespace

std::span<gradient_storage const> gradient_storages() { return list; }

}  // namespace training
