// SPDX-License-Identifier: Apache-2.0
// expect-first: 4.*names::optimizer.*with_one_moment
#include <lowp/lowp.hpp>

#include <vector>

int main() {
  std::vector<lowp::bfloat16> p(3);
  std::vector<float> g(3), m(3), v(3);
#ifdef CONTROL
  lowp::update(p, g, m, v, lowp::adamw{}, 1);
#else
  lowp::update(p, g, m, lowp::adamw{}, 1);
#endif
}
