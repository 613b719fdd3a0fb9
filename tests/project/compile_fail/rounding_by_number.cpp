// SPDX-License-Identifier: Apache-2.0
// expect-first: 3.*names::rounding_or_overflow.*neither_a_rounding_mode
#include <lowp/lowp.hpp>

#include <vector>

void narrow(std::vector<float> const& x, std::vector<lowp::bfloat16>& y) {
#ifdef CONTROL
  lowp::cast(x, y, lowp::toward_zero{});
#else
  lowp::cast(x, y, 1);
#endif
}
