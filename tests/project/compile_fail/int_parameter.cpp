// SPDX-License-Identifier: Apache-2.0
// expect-first: 1.*names::p.*not_a_writable_range
#include <lowp/lowp.hpp>

#include <vector>

#ifdef CONTROL
using parameters = std::vector<float>;
#else
using parameters = std::vector<int>;
#endif

void step(parameters& p, const std::vector<float>& u) { lowp::fused_add(p, -0.1f, u); }
