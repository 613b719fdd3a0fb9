// SPDX-License-Identifier: Apache-2.0
// The result would die with the full expression.
// expect-first: 2.*names::out.*not_a_lasting_writable_range
#include <lowp/lowp.hpp>

#include <vector>

void narrow(std::vector<float> const& x) {
#ifdef CONTROL
  std::vector<lowp::bfloat16> y(x.size());
  lowp::cast(x, y);
#else
  lowp::cast(x, std::vector<lowp::bfloat16>(x.size()));
#endif
}
