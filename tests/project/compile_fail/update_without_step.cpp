// SPDX-License-Identifier: Apache-2.0
// expect-first: missing<4.*names::step
#include <lowp/lowp.hpp>

#include <vector>

int main() {
  std::vector<lowp::bfloat16> p(3);
  std::vector<float> g(3);
#ifdef CONTROL
  lowp::update(p, g, lowp::sgd{.lr = 1}, 1);
#else
  lowp::update(p, g, lowp::sgd{.lr = 1});
#endif
}
