// SPDX-License-Identifier: Apache-2.0
// fp8 weights with a scale that moves: each step writes with the scale that the last one chose.
#include <lowp/lowp.hpp>

#include <cstdio>
#include <vector>

using lowp::float8_e4m3fn;

int main() {
  std::vector<float> w(1000, 0.01f), g(w.size()), m(w.size()), v(w.size());  // w: on its way to 1
  float scale = lowp::power_of_two_scale<float8_e4m3fn>(0.01f, 1), next = scale;
  std::vector<float8_e4m3fn> codes(w.size());
  lowp::scaled_cast(w, codes, scale);

  for (unsigned step = 1; step <= 300; ++step) {
    lowp::scaled_cast(codes, w, 1 / scale);  // the model computes with codes / scale
    for (std::size_t i = 0; i < w.size(); ++i) g[i] = w[i] - 1;

    lowp::update_amax seen;
    lowp::update(lowp::scaled{codes, scale, next}, g, m, v, lowp::adamw{.lr = 1e-2}, step,
                 lowp::stochastic{.seed = 42}, seen);
    scale = next;  // of the codes that are now stored
    next = lowp::power_of_two_scale<float8_e4m3fn>(seen.weight, 1);  // 1: half the range is free
    if (next < scale)
      std::printf("step %3u: largest weight %.3f\n", step, seen.weight.value() + 0.0);
  }
  std::printf("mean weight %.3f, scale %g\n", lowp::mean(w), scale + 0.0);
}
