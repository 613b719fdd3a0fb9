// SPDX-License-Identifier: Apache-2.0
#include "operations/fused_add.hpp"

#include "bfloat16.hpp"
#include "loop.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace {

float widened(float x) { return x; }
float widened(std::uint16_t code) { return bench::from_bfloat16(code); }

template <class U>
void add_loops(bench::suite& cases, std::string const& types) {
  using lowp::bfloat16;
  bench::for_each_loop(
      types + "/nearest_even", [&](std::string const& loop, bench::registers width) {
        auto const add = [=](std::span<bfloat16> p, float alpha, std::span<U const> u) {
          bench::run(width, [=]<bench::registers>() __attribute__((always_inline)) {
            auto* __restrict const to = bench::codes(p);
            auto const* __restrict const from = bench::codes(u);
            std::size_t const n = p.size();
            for (std::size_t i = 0; i < n; ++i) {
              float const old = bench::from_bfloat16(to[i]);
              to[i] = bench::to_nearest_bfloat16(__builtin_fmaf(alpha, widened(from[i]), old));
            }
          });
        };
        // A NaN comes out as the hardware's addition leaves it; the library's are all one code.
        bench::add_fused_add_peer<bfloat16, U>(cases, loop, lowp::nearest_even{}, add,
                                               {.nan_codes = true});
      });
}

bench::peer const loops("fused_add", [](bench::suite& cases) {
  add_loops<float>(cases, "bfloat16,float");
  add_loops<lowp::bfloat16>(cases, "bfloat16,bfloat16");
});

}  // namespace
