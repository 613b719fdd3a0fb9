// SPDX-License-Identifier: Apache-2.0
// Shows how 16 bits lose an addend: the gaps between values, and the end of the range.
#include <lowp/lowp.hpp>

#include <cstdio>

using lowp::bfloat16, lowp::float16;

int main() {
  std::printf("bfloat16  283 * 10 = %g\n", bfloat16(283) * 10 + 0.0);
  std::printf("bfloat16  256 + 1  = %g\n", bfloat16(256) + 1 + 0.0);

  bfloat16 const weight(0.0129f);
  float const half_gap = lowp::gap_above(weight) / 2;
  std::printf("bfloat16  0.0129 is stored as %.8g; the next value is %.3g away\n", weight + 0.0,
              lowp::gap_above(weight) + 0.0);
  for (float const update : {half_gap * 0.999f, half_gap * 1.001f}) {
    bool const moved = bfloat16(weight + update) != weight;
    std::printf("bfloat16  an update of %.4g %s it\n", update + 0.0,
                moved ? "moves" : "is lost on");
  }

  std::printf("float16   65504 + 15 = %g\n", float16(65504) + float16(15) + 0.0);
  std::printf("float16   65504 + 16 = %g\n", float16(65504) + float16(16) + 0.0);
}
