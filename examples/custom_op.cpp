// SPDX-License-Identifier: Apache-2.0
// An operation of your own: written once for a lane, run on packs of every instruction set.
#include <lowp/lowp.hpp>

#include <cstdio>
#include <vector>

namespace lanes = lowp::lanes;

/// A leaky rectifier with a cap: min(x > 0 ? x : slope * x, cap); NaN stays NaN.
struct leaky_relu {
  float slope, cap;

  template <class F>
  F operator()(F const& x) const {
    auto const zero = lanes::broadcast<lanes::word<F>>(0);
    auto const is_negative = lanes::greater(zero, lanes::bits(x));
    F const y = lanes::select(is_negative, lanes::mul(x, lanes::broadcast<F>(slope)), x);
    // Positive floats are ordered as their bits are, NaN last.
    auto const limit = lanes::bits(lanes::broadcast<F>(cap));
    auto const is_above =
        lanes::mask_and(lanes::greater(lanes::bits(y), limit), lanes::mask_not(lanes::is_nan(y)));
    return lanes::select(is_above, lanes::broadcast<F>(cap), y);
  }
};

int main() {
  std::vector<lowp::bfloat16> x(6), y(6);
  lowp::cast(std::vector<float>{-3, -0.5, 0, 0.5, 3, 100}, x);
  lowp::transform(leaky_relu{.slope = 0.01f, .cap = 6}, lowp::nearest_even{}, y, x);
  for (lowp::bfloat16 value : y) std::printf("%g\n", value + 0.0);
}
