// SPDX-License-Identifier: Apache-2.0
// expect-first: does_not_satisfy_span_rounding|do_not_satisfy_span_rounding
#include <lowp/lowp.hpp>

#include <vector>

void narrow(const std::vector<float>& x, std::vector<lowp::bfloat16>& y) {
#ifdef CONTROL
  lowp::cast(x, y, lowp::toward_zero{});
#else
  lowp::cast(x, y, 1);
#endif
}
