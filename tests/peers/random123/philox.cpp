// SPDX-License-Identifier: Apache-2.0
// Compares the 16 bits of elements with words of Random123's Philox4x32, by A7's rule.
#include <Random123/philox.h>
#include <lowp/lowp.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <random>

namespace {

std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

// The number of elements of a block that differ.
int differences(lowp::random_source const& source, std::uint64_t block) {
  using philox = r123::Philox4x32_R<10>;
  std::uint64_t const counter = (block & ~std::uint64_t{0} >> 3) | std::uint64_t{source.draw} << 61;
  philox::ctr_type const word =
      philox{}({{low(counter), high(counter), low(source.stream), high(source.stream)}},
               {{low(source.seed), high(source.seed)}});
  int count = 0;
  for (unsigned e = 0; e < 8; ++e)
    count += source(block * 8 + e) != (word[e % 4] >> (e < 4 ? 0 : 16) & 0xffff);
  return count;
}

}  // namespace

int main() {
  std::mt19937_64 random(61);
  int wrong = 0;
  constexpr int blocks = 500'000;
  for (int i = 0; i < blocks; ++i) {
    lowp::random_source const source{random(), random(), static_cast<std::uint32_t>(random() % 3)};
    std::uint64_t const block = random() >> (3 + random() % 61);
    wrong += differences(source, block);
  }
  std::printf("SUMMARY: %d draws beside Random123: %d differ\n", blocks * 8, wrong);
  return wrong != 0;
}
