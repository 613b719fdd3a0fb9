// SPDX-License-Identifier: Apache-2.0
// Advises how to store the weights of an image model that is fine-tuned, at a normal and a small
// rate.
#include <lowp/measure.hpp>

#include <cstdio>
#include <random>
#include <vector>

int main() {
  // Half of the weights are below 0.0129.
  std::vector<float> weights(100'000);
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 0.0129f / 0.6745f);
  for (float& w : weights) w = normal(random);

  for (double const lr : {1.6e-5, 5e-7}) {
    auto const advice = lowp::stall_advice(weights, {.lr = lr, .steps = 20'000});
    std::printf("lr %g: keep it as %s\n", lr, lowp::facts_of(advice.choice).name.data());
    std::printf("  %-16s bytes  stalled     lost  half moves at\n", "");
    for (std::size_t i = 0; i < lowp::kept_ways.size(); ++i) {
      auto const& way = advice.estimates[i];
      std::printf("  %-16s %5d %7.2f%% %7.2f%%  %.3g\n", lowp::kept_ways[i].name.data(),
                  lowp::kept_ways[i].bytes, 100 * way.stalled, 100 * way.lost, way.lr_half);
    }
  }
}
