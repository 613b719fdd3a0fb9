// SPDX-License-Identifier: Apache-2.0
// A storage layout lacks a member that kernels read.
// expect: storage/layout.hpp lists what a layout has
#include <lowp/update.hpp>

#include <cstddef>
#include <vector>

using lowp::bfloat16;
using kahan_pair = lowp::kahan<bfloat16, bfloat16>;

#ifdef CONTROL
using answer = bool;
#else
using answer = int;
#endif

struct mine : kahan_pair {
  struct layout_type : lowp::detail::layout_of<kahan_pair> {
    LOWP_FN static constexpr answer reads(std::size_t) { return true; }
  };
  [[nodiscard]] layout_type layout() const { return {}; }
};

void step(mine const& p, std::vector<float> const& g) { lowp::update(p, g, lowp::sgd{}, 1); }
