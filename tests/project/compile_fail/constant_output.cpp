// SPDX-License-Identifier: Apache-2.0
// expect-first: 2.*names::out.*not_a_lasting_writable_range
#include <lowp/lowp.hpp>

#include <vector>

#ifdef CONTROL
using parameters = std::vector<lowp::bfloat16>;
#else
using parameters = std::vector<lowp::bfloat16> const;
#endif

void narrow(const std::vector<float>& x, parameters& y) { lowp::cast(x, y); }
