// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10 a block at a time, each for eight elements.
#include "bfloat16.hpp"
#include "cast.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace {

constexpr std::uint64_t seed = 1;

struct block {
  std::uint32_t word[4];
};

block philox(std::uint64_t counter) {
  std::uint32_t w0 = static_cast<std::uint32_t>(counter);
  std::uint32_t w1 = static_cast<std::uint32_t>(counter >> 32), w2 = 0, w3 = 0;
  std::uint32_t k0 = static_cast<std::uint32_t>(seed);
  std::uint32_t k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    std::uint64_t const a = std::uint64_t{0xD2511F53} * w0, b = std::uint64_t{0xCD9E8D57} * w2;
    w0 = static_cast<std::uint32_t>(b >> 32) ^ w1 ^ k0;
    w1 = static_cast<std::uint32_t>(b);
    w2 = static_cast<std::uint32_t>(a >> 32) ^ w3 ^ k1;
    w3 = static_cast<std::uint32_t>(a);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {{w0, w1, w2, w3}};
}

/// n is a multiple of 8.
void cast(float const* __restrict in, std::uint16_t* __restrict out, std::size_t n) {
  for (std::size_t first = 0; first < n; first += 8) {
    block const random = philox(first / 8);
    for (std::size_t i = 0; i < 4; ++i) {
      out[first + i] = bench::to_bfloat16(in[first + i], random.word[i] & 0xffff);
      out[first + 4 + i] = bench::to_bfloat16(in[first + 4 + i], random.word[i] >> 16);
    }
  }
}

bench::peer const loops("cast", [](bench::suite& cases) {
  bench::for_each_loop(
      "float->bfloat16/stochastic", [&](std::string const& loop, bench::registers width) {
        bench::add_cast_peer<float, lowp::bfloat16>(
            cases, loop, lowp::stochastic{.seed = seed},
            [=](std::span<float const> in, std::span<lowp::bfloat16> out) {
              bench::run(width, [=]<bench::registers>() __attribute__((always_inline)) {
                cast(in.data(), bench::codes(out), in.size());
              });
            });
      });
});

}  // namespace
