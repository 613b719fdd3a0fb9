// SPDX-License-Identifier: Apache-2.0
// Types of expressions in which a narrow value meets another number; and why a sum wants a float.
#include <lowp/value.hpp>

#include <cstdio>
#include <numeric>
#include <type_traits>
#include <vector>

using lowp::bfloat16;

template <class X>
char const* type_of(X) {
  return std::is_same_v<X, bfloat16> ? "bfloat16" : std::is_same_v<X, float> ? "float" : "double";
}

int main() {
  bfloat16 x(3), y(7);  // from a floating type a constructor is explicit
  bfloat16 z = 2;       // from an integer it is not
  std::printf("x * y       %s\n", type_of(x * y));
  std::printf("x * 2       %s\n", type_of(x * 2));
  std::printf("x * 0.5f    %s\n", type_of(x * 0.5f));
  std::printf("x * 0.5     %s\n", type_of(x * 0.5));
  std::printf("sqrt(x)     %s\n", type_of(sqrt(x)));
  z = 0.5f * y;                                // an assignment rounds once
  z *= 2.0f;                                   // as z = bfloat16(z * 2.0f)
  std::printf("z           %g\n", double(z));  // std::printf takes no class

  std::vector<bfloat16> const ones(1000, bfloat16(1));
  std::printf("a sum of 1000 ones: %g in bfloat16, %g in float\n",
              double(std::accumulate(ones.begin(), ones.end(), bfloat16(0))),
              double(std::accumulate(ones.begin(), ones.end(), 0.0f)));
}
