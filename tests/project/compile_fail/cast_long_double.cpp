// SPDX-License-Identifier: Apache-2.0
// A cast takes double; a long double has no lanes, and would be rounded twice on its way there.
// expect-first: 1.*names::in.*not_a_range_of_float
#include <lowp/lowp.hpp>

#include <vector>

#ifdef CONTROL
using numbers = std::vector<double>;
#else
using numbers = std::vector<long double>;
#endif

void narrow(const numbers& x, std::vector<lowp::bfloat16>& y) { lowp::cast(x, y); }
