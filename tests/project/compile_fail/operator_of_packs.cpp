// SPDX-License-Identifier: Apache-2.0
// An element function has no operators of float: a unit's flags might fuse them.
// expect: write_lanes_add_sub_mul_div_or_fma
#include <lowp/cast.hpp>

#include <vector>

void square(std::vector<float> const& x, std::vector<lowp::bfloat16>& y) {
#ifdef CONTROL
  auto const function = [](auto const& a) { return lowp::lanes::mul(a, a); };
#else
  auto const function = [](auto const& a) { return a * a; };
#endif
  lowp::transform(function, lowp::nearest_even{}, y, x);
}
