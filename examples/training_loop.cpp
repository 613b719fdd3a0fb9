// SPDX-License-Identifier: Apache-2.0
// A training loop in bfloat16: stochastic rounding on all processors, a checkpoint that resumes to
// the bit, and a watch. The watch names the layer whose values are not finite.
#include <lowp/checkpoint.hpp>
#include <lowp/lowp.hpp>
#include <lowp/openmp.hpp>
#include <lowp/watch.hpp>

#include <cstdio>
#include <filesystem>
#include <vector>

using lowp::bfloat16;

struct model {
  std::vector<bfloat16> w = std::vector<bfloat16>(100'000, bfloat16(1));
  std::vector<bfloat16> m = std::vector<bfloat16>(w.size()), v = m;
  std::uint64_t step = 0, seed = 42;
  lowp::overflow_watch<> watch;
  std::size_t fc1 = watch.add("fc1", "Linear");

  void train(std::uint64_t last) {
    while (step < last) {
      watch.step(++step);
      std::vector<bfloat16> g(w.size());  // of the loss w * w / 2
      lowp::cast(w, g);
      watch.backward(fc1).weight(g);
      lowp::openmp::update(w, g, m, v, lowp::adamw{.lr = 1e-4}, step, lowp::stochastic{seed});
    }
  }
  void describe(lowp::checkpoint& state) {
    state.parameter("w", {w.size()}, w, m, v).scalar("step", step).scalar("seed", seed);
  }
};

int main() {
  auto const path = (std::filesystem::temp_directory_path() / "lowp.safetensors").string();
  model whole, resumed;
  lowp::checkpoint saved, loaded;
  whole.describe(saved), resumed.describe(loaded);
  whole.train(50), saved.save(path), whole.train(100);
  loaded.load(path), resumed.train(100);
  std::filesystem::remove(path);
  std::printf("mean weight %.4f; resumed to the bit: %s\n", lowp::mean(whole.w),
              whole.w == resumed.w ? "yes" : "no");
}
