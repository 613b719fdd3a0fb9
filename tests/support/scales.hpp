// SPDX-License-Identifier: Apache-2.0
// The right scale of a tensor or a block, by trying one power of two after another in double.
#pragma once

#include <algorithm>
#include <cmath>

#include "support.hpp"

namespace lowp_test {

using scalable_formats =
    testing::Types<lowp::float16, lowp::bfloat16, lowp::float8_e5m2, lowp::float8_e4m3fn,
                   lowp::float8_e4m3, lowp::float8_e3m4, lowp::float8_e4m3fnuz,
                   lowp::float8_e5m2fnuz, lowp::float8_e4m3b11fnuz, lowp::float6_e2m3fn,
                   lowp::float6_e3m2fn, lowp::float4_e2m1fn, user_e6m9, user_e5m4, user_e3m2fn>;

// `amax` is positive and finite.
inline double oracle_scale(oracle::facts const& f, double amax, int margin) {
  int exponent = 300;
  while (std::ldexp(amax, exponent) > f.max_finite) --exponent;
  long long const divided = static_cast<long long>(exponent) - margin;
  return std::ldexp(1.0, static_cast<int>(std::clamp(divided, -126LL, 126LL)));
}

// That of scale, for x = code * scale.
inline int oracle_block_exponent(oracle::facts const& f, double amax, bool floor) {
  if (floor) return std::max(-127, std::ilogb(amax) - std::ilogb(f.max_finite));
  int exponent = -127;
  while (std::ldexp(amax, -exponent) > f.max_finite) ++exponent;
  return exponent;
}

}  // namespace lowp_test
