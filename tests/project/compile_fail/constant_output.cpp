// SPDX-License-Identifier: Apache-2.0
// expect-first: does_not_satisfy_cast_output|do_not_satisfy_cast_output
#include <lowp/lowp.hpp>

#include <vector>

#ifdef CONTROL
using parameters = std::vector<lowp::bfloat16>;
#else
using parameters = const std::vector<lowp::bfloat16>;
#endif

void narrow(const std::vector<float>& x, parameters& y) { lowp::cast(x, y); }
