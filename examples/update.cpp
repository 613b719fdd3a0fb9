// SPDX-License-Identifier: Apache-2.0
#include <lowp/lowp.hpp>

#include <cstdio>
#include <vector>

int main() {
  std::vector<lowp::bfloat16> p(1000, lowp::bfloat16(1.0f)), g(1000, lowp::bfloat16(0.5f));
  std::vector<float> m(1000), v(1000);
  for (unsigned step = 1; step <= 3; ++step) {
    lowp::update_report report;
    lowp::update(p, g, m, v, lowp::adamw{.lr = 1e-4}, step, lowp::stochastic{.seed = 42}, report);
    std::printf("step %u: applied %.2f of what was asked, p[0] = %g\n", step,
                report.applied_ratio(), p[0] + 0.0);
  }
}
