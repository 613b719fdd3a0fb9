// SPDX-License-Identifier: Apache-2.0
// From a NaN to the name of the layer: a small model in float16 whose loss is NaN, and why.
#include <lowp/value.hpp>
#include <lowp/watch.hpp>

#include <cstdio>
#include <vector>

using tensor = std::vector<lowp::float16>;

struct block {
  tensor weight;
  std::size_t place;
};

tensor gated(tensor const& w, tensor const& x) {
  tensor y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] * w[i] * x[i];
  return y;
}
tensor centred(tensor x) {
  lowp::float16 mean(0);
  for (auto const& each : x) mean += each / static_cast<int>(x.size());
  for (auto& each : x) each -= mean;
  return x;
}

int main() {
  std::vector<block> blocks;
  lowp::overflow_watch watch({.frames = 3, .lines = 20});
  for (char const* name : {"block.0", "block.1", "block.2", "block.3"})
    blocks.push_back({tensor(4, lowp::float16(0.7f)), watch.add(name, "Gated")});
  std::size_t const norm = watch.add("norm", "Centred");

  try {
    for (unsigned step = 0; step < 2; ++step) {
      watch.step(step);
      tensor x{lowp::float16(1), lowp::float16(-2.5f), lowp::float16(2), lowp::float16(6 * step)};
      for (block const& b : blocks) {
        tensor const y = gated(b.weight, x);
        watch.forward(b.place).weight(b.weight).input(x).output(y);
        x = y;
      }
      tensor const y = centred(x);  // infinity less infinity: what is seen without a watch
      watch.forward(norm).input(x).output(y);
      std::printf("loss %g\n", static_cast<double>(y[0]));
    }
  } catch (lowp::watch_error const& error) {
    std::puts(error.what());
  }
}
