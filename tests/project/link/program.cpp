// SPDX-License-Identifier: Apache-2.0
// Instantiates a kernel of each kind, for a look at the parts that the linker puts together.
#include <lowp/lowp.hpp>

#include <vector>

int main() {
  std::vector<float> x(1000, 1.0f);
  std::vector<lowp::bfloat16> p(x.size());
  std::vector<lowp::float8_e4m3fn> small(x.size());
  lowp::update_report report;
  lowp::cast(x, p);
  lowp::cast(p, small, lowp::stochastic{.seed = 1});
  lowp::fused_add(p, 0.5f, x, lowp::upward{}, report);
  std::vector<float> m(x.size());
  std::vector<float> v(x.size());
  lowp::update(p, x, m, v, lowp::adamw{}, 1, lowp::per_slot{});
  return report.count == x.size() ? 0 : 1;
}
