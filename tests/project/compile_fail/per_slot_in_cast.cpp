// SPDX-License-Identifier: Apache-2.0
// A cast has one slot; modes for the moments belong to update.
// expect-first: 3.*names::rounding_or_overflow.*neither_a_rounding_mode
#include <lowp/lowp.hpp>

#include <vector>

void narrow(std::vector<float> const& x, std::vector<lowp::bfloat16>& y) {
#ifdef CONTROL
  lowp::cast(x, y, lowp::upward{});
#else
  lowp::cast(x, y, lowp::per_slot{.param = lowp::upward{}});
#endif
}
