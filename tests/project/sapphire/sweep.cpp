// SPDX-License-Identifier: Apache-2.0
// Casts every float to bfloat16, on the best backend of the machine. The machine has no files, no
// environment and no test framework, and is slow. So the check looks at each code once.
#include <lowp/cast.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>

namespace {

constexpr std::size_t size = 65536;  // the floats that share their upper half
alignas(64) float floats[size];
alignas(64) lowp::bfloat16 codes[size];

__attribute__((target_clones("avx512f", "default"))) void next_upper_half() {
  for (float& x : floats) {
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    bits += 0x10000;
    std::memcpy(&x, &bits, sizeof bits);
  }
}

// Tells if all codes from `begin` to `end` are `expected`: the first one is, and each is the next.
bool are(std::size_t begin, std::size_t end, std::uint32_t expected) {
  return codes[begin].bits() == expected &&
         std::memcmp(codes + begin, codes + begin + 1, (end - begin - 1) * sizeof *codes) == 0;
}

// Checks the codes of all floats with this upper half: at zero, below the tie, at it and above it.
bool are_right(std::uint32_t upper) {
  std::uint32_t zero = upper, below = upper, tie = upper + (upper & 1), above = upper + 1;
  if ((upper & 0x7f80) == 0x7f80) {
    below = tie = above = upper | 0x40;
    zero = (upper & 0x7f) == 0 ? upper : upper | 0x40;
  }
  return are(0, 1, zero) && are(1, 0x8000, below) && are(0x8000, 0x8001, tie) &&
         are(0x8001, size, above);
}

}  // namespace

int main() {
  auto const isa = lowp::isa();
  std::printf("isa %.*s\n", static_cast<int>(isa.size()), isa.data());
  for (std::uint32_t i = 0; i < size; ++i) std::memcpy(&floats[i], &i, sizeof i);
  unsigned wrong = 0;
  for (std::uint32_t upper = 0; upper < 65536; ++upper) {
    lowp::cast(std::span<float const>(floats), std::span(codes));
    if (!are_right(upper)) {
      if (wrong++ < 10) std::printf("wrong: 0x%04x....\n", upper);
    }
    next_upper_half();
  }
  std::printf("upper halves 65536 wrong %u\n", wrong);
  return wrong == 0 ? 0 : 1;
}
