// SPDX-License-Identifier: Apache-2.0
// A cast needs one range that holds floats or a narrow type.
// expect-first: integers_become_float_or_narrow
#include <lowp/lowp.hpp>

#include <vector>

#ifdef CONTROL
using numbers = std::vector<float>;
#else
using numbers = std::vector<double>;
#endif

void widen(const std::vector<int>& x, numbers& y) { lowp::cast(x, y); }
