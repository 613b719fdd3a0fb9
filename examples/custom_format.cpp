// SPDX-License-Identifier: Apache-2.0
// A format of your own is one line: here 1 sign, 5 exponent and 4 significand bits, bias 15. The
// IEEE P3109 draft has a family of formats: here zero and powers of two, without sign.
#include <lowp/lowp.hpp>
#include <lowp/p3109.hpp>

#include <cstdio>
#include <limits>
#include <vector>

using float10_e5m4 = lowp::basic_float<lowp::format{5, 4, 15}>;
using binary8p1uf =
    lowp::basic_float<lowp::p3109(8, 1, lowp::p3109_domain::finite, lowp::p3109_sign::absent)>;

int main() {
  using limits = std::numeric_limits<float10_e5m4>;
  std::printf("largest %g, smallest normal %g, smallest %g, epsilon %g\n", limits::max() + 0.0,
              limits::min() + 0.0, limits::denorm_min() + 0.0, limits::epsilon() + 0.0);
  std::printf("3 / 7 = %g, code %03x\n", float10_e5m4(3) / 7 + 0.0,
              (float10_e5m4(3) / 7).bits() + 0u);

  std::vector<float> const in(10000, 1.02f);  // between 1 and 1.0625
  std::vector<float10_e5m4> out(in.size());
  lowp::cast(in, out, lowp::stochastic{.seed = 7});
  double sum = 0;
  for (float10_e5m4 x : out) sum += x;
  std::printf("mean of 10000 stochastic roundings of 1.02: %.4f\n", sum / 10000);

  for (float const x : {0.1f, 6.0f, 0.0f, -1.0f})  // 6 is a tie: the even code wins
    std::printf("%g becomes %g, code %02x\n", x, binary8p1uf(x) + 0.0, binary8p1uf(x).bits() + 0u);
}
