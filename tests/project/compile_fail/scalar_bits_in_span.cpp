// SPDX-License-Identifier: Apache-2.0
// A single draw for a whole span would round every element the same way.
// expect-first: 3.*names::rounding_or_overflow.*neither_a_rounding_mode
#include <lowp/lowp.hpp>

#include <vector>

void narrow(std::vector<float> const& x, std::vector<lowp::bfloat16>& y) {
#ifdef CONTROL
  lowp::cast(x, y, lowp::stochastic{.seed = 1});
#else
  lowp::cast(x, y, lowp::stochastic_bits{1});
#endif
}
