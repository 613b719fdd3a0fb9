// SPDX-License-Identifier: Apache-2.0
// A cast needs one range that holds floats or a narrow type.
// expect-first: does_not_satisfy_castable|do_not_satisfy_castable
#include <lowp/lowp.hpp>

#include <vector>

#ifdef CONTROL
using numbers = std::vector<float>;
#else
using numbers = std::vector<double>;
#endif

void widen(const std::vector<int>& x, numbers& y) { lowp::cast(x, y); }
