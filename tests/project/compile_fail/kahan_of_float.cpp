// SPDX-License-Identifier: Apache-2.0
// expect-first: narrow type
#include <lowp/lowp.hpp>

#include <vector>

int main() {
  std::vector<lowp::bfloat16> p(3);
#ifdef CONTROL
  std::vector<lowp::bfloat16> rest(3);
#else
  std::vector<float> rest(3);
#endif
  lowp::fused_add(lowp::kahan{p, rest}, 1.0f, std::vector<float>(3));
}
