// SPDX-License-Identifier: Apache-2.0
// The result would die with the full expression.
// expect-first: does_not_satisfy_cast_output|do_not_satisfy_cast_output
#include <lowp/lowp.hpp>

#include <vector>

void narrow(const std::vector<float>& x) {
#ifdef CONTROL
  std::vector<lowp::bfloat16> y(x.size());
  lowp::cast(x, y);
#else
  lowp::cast(x, std::vector<lowp::bfloat16>(x.size()));
#endif
}
