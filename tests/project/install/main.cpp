// SPDX-License-Identifier: Apache-2.0
#include <lowp/lowp.hpp>

#include <vector>

int main() {
  std::vector<float> const wide{1.0f, 2.5f, -3.0f};
  std::vector<lowp::bfloat16> narrow(wide.size());
  lowp::cast(wide, narrow);
  return narrow[1] == lowp::bfloat16(2.5f) ? 0 : 1;
}
