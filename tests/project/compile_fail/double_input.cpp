// SPDX-License-Identifier: Apache-2.0
// Operations compute in float; a double would be rounded twice. Only cast takes double.
// expect-first: 3.*names::u.*not_a_range_of_float
#include <lowp/lowp.hpp>

#include <vector>

#ifdef CONTROL
using updates = std::vector<float>;
#else
using updates = std::vector<double>;
#endif

void step(std::vector<lowp::bfloat16>& p, const updates& u) { lowp::fused_add(p, -0.1f, u); }
