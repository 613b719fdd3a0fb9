// SPDX-License-Identifier: Apache-2.0
#include <lowp/lowp.hpp>

#include <cstdio>
#include <vector>

int main() {
  std::vector<lowp::bfloat16> p(1000, lowp::bfloat16(1.0f)), g(1000, lowp::bfloat16(0.5f));
  std::vector<float> m(1000), v(1000);
  lowp::update_report report;
  lowp::update(p, g, m, v, lowp::adamw{.lr = 1e-4}, 1, lowp::stochastic{.seed = 42}, report);
  std::printf("applied %.2f of the step, %d of 1000 moved\n", report.applied_ratio(),
              1000 - static_cast<int>(report.stalled));
}
