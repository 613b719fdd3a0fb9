// SPDX-License-Identifier: Apache-2.0
// The same 1000 weights, the same 500 small steps, kept in six ways: choosing one is choosing a
// type.
#include <lowp/lowp.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

using lowp::bfloat16;

constexpr std::size_t n = 1000;

template <class Storage, class Rounding>
void train(char const* name, Storage weights, Rounding rounding, int bytes) {
  std::vector<float> const g(n, 1.0f);
  std::vector<float> m(n), v(n);
  lowp::update_report report;
  for (std::uint64_t step = 1; step <= 500; ++step)
    lowp::update(weights, g, m, v, lowp::adamw{.lr = 2e-5, .weight_decay = 0}, step, rounding,
                 report);
  std::printf("%-30s %d bytes  applied %.3f\n", name, bytes, report.applied_ratio());
}

int main() {
  std::vector<bfloat16> p(n, bfloat16(1)), q = p, r = p, s = p, t = p, u = p;
  std::vector<bfloat16> compensation(n, bfloat16(0));
  std::vector<float> weights(n, 1.0f);
  std::vector<std::uint16_t> low16(n);
  std::vector<std::uint8_t> low8(n);

  lowp::nearest_even const nearest;
  lowp::stochastic const stochastic{.seed = 1};
  train("bfloat16, nearest", std::span(p), nearest, 2);
  train("bfloat16, stochastic", std::span(q), stochastic, 2);
  train("bfloat16 + 8 bits, stochastic", lowp::split_master{r, low8}, stochastic, 3);
  train("bfloat16, Kahan", lowp::kahan{s, compensation}, stochastic, 4);
  train("bfloat16 + 16 bits", lowp::split_master{t, low16}, nearest, 4);
  train("float, and a bfloat16 copy", lowp::master{weights, u}, nearest, 6);
}
