// SPDX-License-Identifier: Apache-2.0
// Gaps between values of 16 bits, and their effect on sums and products.
#pragma once

#include <lowp/value.hpp>

#include <vector>

namespace cases {

struct gap_row {
  float magnitude;
  float bfloat16_gap, float16_gap;  ///< to the next larger value; NaN beyond the format's range
};

struct gaps {
  std::vector<gap_row> rows;  ///< by powers of two
  float product;              ///< 283 * 10 in bfloat16
  float bfloat16_stuck;       ///< where a bfloat16 counter that adds 1 stops
  float float16_stuck;        ///< the same in float16
  float float16_end;          ///< the smallest integer that, added to 65504, gives infinity
};

template <class T>
float gap_at(float magnitude) {
  T const x(magnitude);
  return lowp::isfinite(x) ? lowp::ulp(x) : std::numeric_limits<float>::quiet_NaN();
}

template <class T>
float stuck_counter() {
  T count(0);
  while (count + T(1) != count) count += T(1);
  return count;
}

inline gaps find_gaps() {
  using lowp::bfloat16, lowp::float16;
  gaps found;
  for (int exponent = -24; exponent <= 20; exponent += 2) {
    float const magnitude =
        exponent < 0 ? 1 / static_cast<float>(1 << -exponent) : static_cast<float>(1 << exponent);
    found.rows.push_back({magnitude, gap_at<bfloat16>(magnitude), gap_at<float16>(magnitude)});
  }
  found.product = bfloat16(283) * bfloat16(10);
  found.bfloat16_stuck = stuck_counter<bfloat16>();
  found.float16_stuck = stuck_counter<float16>();
  found.float16_end = 1;
  while (lowp::isfinite(float16(65504) + float16(found.float16_end))) ++found.float16_end;
  return found;
}

}  // namespace cases
