// SPDX-License-Identifier: Apache-2.0
// Times the set-ups of mixed.hpp: all that a step does with weights but the products.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <span>

#include "cases/mixed.hpp"

namespace cases {

inline constexpr std::size_t timed_weights = std::size_t{1} << 22;

struct mixed_time {
  std::string_view name;
  double ratio;  ///< to fp32, of medians
};

/// A step: every micro-batch reads all weights once, as the model would, and AdamW updates them.
template <class Setup>
class timed_setup {
 public:
  explicit timed_setup(bool is_stochastic)
      : kept_(std::vector<float>(timed_weights, 0.01f)),
        gradient_(timed_weights, 0.5f),
        first_(timed_weights),
        second_(timed_weights),
        scratch_(Setup::scratch_bytes > 0 ? timed_weights : 0),
        is_stochastic_(is_stochastic) {}

  double seconds(std::uint64_t step) {
    auto const start = std::chrono::steady_clock::now();
    for (std::uint64_t micro = 0; micro < micro_batches; ++micro)
      use(std::as_bytes(kept_.setup().working(scratch_)));
    lowp::per_slot how{.param = lowp::nearest_even{}};
    if (is_stochastic_) how.param = lowp::stochastic{.seed = 1};
    lowp::update(kept_.setup().storage(), gradient_, first_, second_, lowp::adamw{}, step, how);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  void use(std::span<std::byte const> bytes) {
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), layer_.size())))
      std::memcpy(layer_.data(), bytes.data(), std::min(bytes.size(), layer_.size()));
  }

  kept_tensor<Setup> kept_;
  std::vector<float> gradient_, first_, second_;
  std::vector<lowp::bfloat16> scratch_;
  std::vector<std::byte> layer_ = std::vector<std::byte>(1 << 14);  // stays in the nearest cache
  bool is_stochastic_;
};

/// Interleaved, because machines are noisy.
inline std::vector<mixed_time> time_mixed() {
  timed_setup<fp32_weights> fp32(false);
  timed_setup<cast_per_use> per_use(false);
  timed_setup<cached_copy> cached(false);
  timed_setup<pure> stochastic(true), nearest(false);
  constexpr std::uint64_t rounds = 15;
  std::array<std::vector<double>, 5> seconds;
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    seconds[0].push_back(fp32.seconds(round));
    seconds[1].push_back(per_use.seconds(round));
    seconds[2].push_back(cached.seconds(round));
    seconds[3].push_back(stochastic.seconds(round));
    seconds[4].push_back(nearest.seconds(round));
  }
  auto const median = [&](std::size_t i) {
    std::nth_element(seconds[i].begin(), seconds[i].begin() + rounds / 2, seconds[i].end());
    return seconds[i][rounds / 2];
  };
  double const base = median(0);
  return {{"fp32 throughout", 1},
          {"mixed, cast per use", median(1) / base},
          {"mixed, cached copy", median(2) / base},
          {"pure bf16, stochastic", median(3) / base},
          {"pure bf16, nearest", median(4) / base}};
}

}  // namespace cases
