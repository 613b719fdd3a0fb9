// SPDX-License-Identifier: Apache-2.0
// The error of a sum over 2 to 65536 ranks, by the way of summing. Each rank adds one gradient: a
// part that all ranks share, and noise. Prints CSV: relative root mean square errors.
#include <lowp/lowp.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

using lowp::bfloat16;

namespace {

constexpr std::size_t size = 1024;
constexpr std::uint32_t most_ranks = 65536;
using vector = std::vector<float>;

float uniform(std::uint32_t rank, std::uint32_t i, std::uint32_t what) {
  std::uint32_t const word = lowp::philox4x32({i, rank, what, 0}, {1, 2})[0];
  return std::ldexp(static_cast<float>(word >> 8), -23) - 1;
}

vector gradient_of(std::uint32_t rank) {
  vector g(size);
  for (std::uint32_t i = 0; i < size; ++i)
    g[i] = uniform(0, i, 1) / 4 + uniform(rank, i, 2) * uniform(rank, i, 3);
  return g;
}

double error_of(vector const& sum, std::vector<double> const& exact) {
  double squares = 0, all = 0;
  for (std::size_t i = 0; i < size; ++i) {
    squares += (sum[i] - exact[i]) * (sum[i] - exact[i]);
    all += exact[i] * exact[i];
  }
  return std::sqrt(squares / all);
}

vector widened(std::vector<bfloat16> const& x) {
  vector result(size);
  lowp::cast(x, result);
  return result;
}

// Sums that pairs, then pairs of pairs, add; each is rounded to bfloat16.
struct tree {
  std::vector<std::vector<bfloat16>> levels;

  void add(std::vector<bfloat16> x, std::uint32_t rank) {
    for (; rank % 2 != 0; rank /= 2) {
      lowp::fused_add(x, 1.0f, levels.back());
      levels.pop_back();
    }
    levels.push_back(std::move(x));
  }
};

}  // namespace

int main() {
  std::vector<double> exact(size);
  vector ring_float(size), owner(size), owner_random(size), owner_blocks(size);
  std::vector<bfloat16> ring(size), codes(size);
  std::vector<lowp::float8_e4m3fn> small(size);
  std::vector<lowp::float8_e8m0fnu> scales(size / 32);
  tree pairs;
  std::puts(
      "ranks,ring fp32,ring bf16,tree bf16,owner bf16,owner bf16 stochastic,owner mxfp8 "
      "stochastic");
  for (std::uint32_t rank = 0; rank < most_ranks; ++rank) {
    vector const g = gradient_of(rank);
    for (std::size_t i = 0; i < size; ++i) exact[i] += static_cast<double>(g[i]);
    lowp::fused_add(ring_float, 1.0f, g);

    lowp::cast(g, codes);
    lowp::fused_add(ring, 1.0f, codes);
    pairs.add(codes, rank);
    lowp::fused_add(owner, 1.0f, codes);

    lowp::stochastic const random{.seed = 3, .offset = rank * std::uint64_t{size}};
    lowp::cast(g, codes, random);
    lowp::fused_add(owner_random, 1.0f, codes);
    auto const blocks = lowp::blocks_of<32>(small, scales);
    lowp::block_cast(g, blocks, random);
    lowp::fused_add(owner_blocks, 1.0f, blocks);

    std::uint32_t const ranks = rank + 1;
    if (ranks < 2 || (ranks & rank) != 0) continue;
    std::printf("%u", ranks);
    for (vector const& sum : {ring_float, widened(ring), widened(pairs.levels.front()), owner,
                              owner_random, owner_blocks})
      std::printf(",%.3g", error_of(sum, exact));
    std::puts("");
  }
}
