// SPDX-License-Identifier: Apache-2.0
// expect-first: fit_but_not_together_or_not_in_this_order
#include <lowp/lowp.hpp>

#include <vector>

int main() {
  std::vector<lowp::bfloat16> p(3);
  std::vector<float> g(3), m(3), v(3);
  std::vector list{lowp::adamw_tensor{p, g, m, v}};
#ifdef CONTROL
  lowp::update(list, lowp::adamw{}, 1);
#else
  lowp::update(list, lowp::sgd{.lr = 1}, 1);
#endif
}
