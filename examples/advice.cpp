// SPDX-License-Identifier: Apache-2.0
// Advises how to store the weights of an image model that is fine-tuned: at a normal and a small
// rate, then from gradients.
#include <lowp/advice.hpp>
#include <lowp/update.hpp>

#include <cstdio>
#include <random>
#include <vector>

std::mt19937 engine(1);
void draw(std::vector<float>& x, float mean, float deviation) {
  std::normal_distribution<float> normal(mean, deviation);
  for (float& each : x) each = normal(engine);
}

struct tensor {
  std::vector<float> p, g = p, m = std::vector<float>(p.size()), v = m;
};

int main() {
  // Half of the weights are below 0.0129.
  std::vector<float> weights(100'000);
  draw(weights, 0, 0.0129f / 0.6745f);
  for (double const lr : {1.6e-5, 5e-7}) {
    auto update = lowp::update_of(lowp::adamw{.lr = lr});
    update.steps = 20'000;
    auto const advice = lowp::stall_advice(weights, update);
    std::printf("lr %g: keep it as %s\n", lr, lowp::facts_of(advice.choice).name.data());
    std::printf("  %-16s bytes  stalled     lost  half moves at\n", "");
    for (std::size_t i = 0; i < lowp::kept_ways.size(); ++i) {
      auto const& way = advice.estimates[i];
      std::printf("  %-16s %5d %7.2f%% %7.2f%%  %.2g\n", lowp::kept_ways[i].name.data(),
                  lowp::kept_ways[i].bytes, 100 * way.stalled, 100 * way.lost, way.lr_half);
    }
  }

  // Two tensors that train for a while, and the sizes of their next updates.
  tensor w{weights}, norm{std::vector<float>(1000, 1.0f)};
  std::vector const list{lowp::adamw_tensor{w.p, w.g, w.m, w.v, "weight"},
                         lowp::adamw_tensor{norm.p, norm.g, norm.m, norm.v, "norm"}};
  lowp::adamw const optimizer{.lr = 3e-5};
  for (unsigned step = 1;; ++step) {
    draw(w.g, 0, 1e-3f);
    draw(norm.g, 1e-3f, 1e-3f);
    if (step == 40) break;
    lowp::update(list, optimizer, step);
  }
  auto const updates = lowp::update_of(list, optimizer, 40);
  for (std::size_t i = 0; i < list.size(); ++i)
    std::printf("%s: |update| / lr has a mean of %.2f\n", list[i].name.data(),
                updates[i].direction);
  std::printf("keep the list as %s\n", lowp::stall_advice(list, updates).text().c_str());
}
