// SPDX-License-Identifier: Apache-2.0
// Operations compute in float; a double would be rounded twice. Only cast takes double.
// expect-first: does_not_satisfy_readable|do_not_satisfy_readable
#include <lowp/lowp.hpp>

#include <vector>

#ifdef CONTROL
using updates = std::vector<float>;
#else
using updates = std::vector<double>;
#endif

void step(std::vector<lowp::bfloat16>& p, const updates& u) { lowp::fused_add(p, -0.1f, u); }
