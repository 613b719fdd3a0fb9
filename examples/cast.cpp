// SPDX-License-Identifier: Apache-2.0
// Converts floats into several formats and back, rounded in several ways.
#include <lowp/lowp.hpp>

#include <cstdio>
#include <vector>

template <class T, class... How>
void show(char const* name, std::vector<float> const& in, How... how) {
  std::vector<T> narrow(in.size());
  std::vector<float> back(in.size());
  lowp::cast(in, narrow, how...);
  lowp::cast(narrow, back);
  std::printf("%-31s", name);
  for (float x : back) std::printf("%12.6g", x + 0.0);
  std::printf("\n");
}

int main() {
  using namespace lowp;
  std::vector<float> const in = {0.1f, -1.003f, 464, 480, 70000, 1e-7f};
  show<float>("float", in);
  show<bfloat16>("bfloat16", in);
  show<bfloat16>("bfloat16 toward_zero", in, toward_zero{});
  show<bfloat16>("bfloat16 stochastic, seed 1", in, stochastic{.seed = 1});
  show<bfloat16>("bfloat16 stochastic, seed 2", in, stochastic{.seed = 2});
  show<float16>("float16", in);
  show<float16>("float16 saturate", in, nearest_even{}, overflow::saturate);
  show<float8_e5m2>("float8_e5m2", in);
  show<float8_e4m3fn>("float8_e4m3fn", in);
  show<float8_e4m3fn>("float8_e4m3fn infinity (to NaN)", in, nearest_even{}, overflow::infinity);
}
