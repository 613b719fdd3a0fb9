// SPDX-License-Identifier: Apache-2.0
#include "bfloat16.hpp"
#include "cast.hpp"
#include "double.hpp"

#include <cstdint>

namespace {

bench::peer const loops("cast", [](bench::suite& cases) {
  using lowp::bfloat16;
  bench::add_cast_loops<float, bfloat16>(cases, "float->bfloat16/nearest_even",
                                         lowp::nearest_even{},
                                         [](float x) { return bench::to_nearest_bfloat16(x); });
  bench::add_cast_loops<double, bfloat16>(
      cases, "double->bfloat16/nearest_even", lowp::nearest_even{},
      [](double x) { return bench::to_nearest_bfloat16(bench::to_odd_float(x)); });
  bench::add_cast_loops<bfloat16, float>(cases, "bfloat16->float/exact", lowp::nearest_even{},
                                         [](std::uint16_t x) { return bench::from_bfloat16(x); });
});

}  // namespace
