// SPDX-License-Identifier: Apache-2.0
#include <lowp/lowp.hpp>

#include <cstdio>
#include <vector>

struct layer {
  std::vector<lowp::bfloat16> w, g, m = std::vector<lowp::bfloat16>(w.size()), v = m;
};

int main() {
  using lowp::bfloat16;
  layer body{std::vector(5000, bfloat16(1)), std::vector(5000, bfloat16(0.5f))};
  layer head{std::vector(1000, bfloat16(2)), std::vector(1000, bfloat16(-0.5f))};
  std::vector model{lowp::adamw_tensor{body.w, body.g, body.m, body.v, "body"},
                    lowp::adamw_tensor{head.w, head.g, head.m, head.v, "head"}};
  std::vector<lowp::update_report> reports(model.size());
  for (unsigned step = 1; step <= 100; ++step)
    lowp::update(model, lowp::adamw{.lr = 1e-4}, step, lowp::stochastic_fast{.seed = 42}, reports);
  for (std::size_t i = 0; i < model.size(); ++i)
    std::printf("%s: applied %.2f\n", model[i].name.data(), reports[i].applied_ratio());
}
