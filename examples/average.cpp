// SPDX-License-Identifier: Apache-2.0
// An exponential moving average of weights: 200 steps of 1 toward 1.5.
#include <lowp/lowp.hpp>

#include <cstdio>
#include <vector>

int main() {
  using lowp::bfloat16;
  std::vector<bfloat16> const weights(10000, bfloat16(1.5f));
  std::vector nearest(weights.size(), bfloat16(1)), drawn = nearest;
  lowp::update_report of_nearest, of_drawn;
  for (unsigned step = 1; step <= 200; ++step) {
    lowp::ema const average{.decay = 0.999};
    lowp::update(nearest, weights, average, step, lowp::nearest_even{}, of_nearest);
    lowp::update(drawn, weights, average, step, lowp::stochastic_fast{.seed = 42}, of_drawn);
  }
  std::printf("nearest:         mean %.4f, applied %.2f\n", lowp::mean(nearest),
              of_nearest.applied_ratio());
  std::printf("stochastic_fast: mean %.4f, applied %.2f\n", lowp::mean(drawn),
              of_drawn.applied_ratio());
}
