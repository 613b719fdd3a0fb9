// SPDX-License-Identifier: Apache-2.0
// Tells how float16 would change activations, without storing them.
#include <lowp/measure.hpp>

#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

int main() {
  std::vector<float> x(10'000);
  std::mt19937 random(1);
  std::normal_distribution<float> normal(2, 4);
  for (auto& each : x) each = std::exp(normal(random));

  lowp::range_census const all = lowp::census<lowp::float16>(x);
  std::puts(text(all).c_str());
  std::printf("%d of them are in [2^16, 2^17)\n", static_cast<int>(all.exponents[16]));
}
