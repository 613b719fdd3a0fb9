// SPDX-License-Identifier: Apache-2.0
// Fingerprints of weights by each function that this processor runs, beside sums of 64 bits. They
// are compiled as those of examples/torch are: packs come with -O2.
#include "step.hpp"

#include <cstdio>
#include <cstdlib>
#include <random>

namespace {

/// Returns how many functions give another fingerprint than exact sums do.
int failures_of(std::vector<lowp::bfloat16> const& p) {
  std::size_t const blocks = p.size() / block;
  std::vector<std::uint64_t> exact;
  for (std::size_t i = 0; i < blocks; ++i) {
    std::uint64_t both[2];
    for (int row = 0; row < 2; ++row) {
      std::int64_t sum = 0;
      for (std::size_t j = 0; j < block; ++j) {
        std::int64_t const bits = p[i * block + j].bits();
        sum += (bits < 0x8000 ? bits : bits - 0x10000) * keys.of[row][j];
      }
      both[row] = static_cast<std::uint64_t>(sum) % (std::uint64_t{1} << 32);
    }
    exact.push_back(both[0] + (both[1] << 32));
  }
  int failures = 0;
  auto const compare = [&](char const* name, write_fingerprints_type* write) {
    std::vector<std::uint64_t> found(blocks);
    write(found.data(), p.data(), blocks);
    if (found == exact) return;
    ++failures;
    std::printf("%s writes another fingerprint\n", name);
  };
  compare("write_portable", write_portable);
  compare("write_chosen", write_chosen);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) compare("write_avx2", write_avx2);
#endif
  return failures;
}

}  // namespace

int main() {
  std::mt19937 source(1);
  std::vector<lowp::bfloat16> p(1000 * block);
  for (auto& each : p)
    each = lowp::bfloat16::from_bits(static_cast<std::uint16_t>(source() & 0xffff));
  int failures = failures_of(p);
  for (auto const bits : std::initializer_list<std::uint16_t>{0x8000, 0x7fff, 0xffff, 0})
    failures += failures_of(std::vector(4 * block, lowp::bfloat16::from_bits(bits)));
  std::printf("fingerprints: %d differ\n", failures);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
