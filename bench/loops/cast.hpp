// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loop.hpp"
#include "operations/cast.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace bench {

/// out[i] = element(in[i]), in codes.
template <class From, class To, class Rounding, class Element>
void add_cast_loops(suite& cases, std::string const& name, Rounding rounding, Element element,
                    own_way allowed = {}) {
  for_each_loop(name, [&](std::string const& loop, registers width) {
    auto const cast = [=](std::span<From const> in, std::span<To> out) {
      run(width, [=]<registers>() __attribute__((always_inline)) {
        auto const* __restrict const from = codes(in);
        auto* __restrict const to = codes(out);
        std::size_t const n = out.size();
        for (std::size_t i = 0; i < n; ++i) to[i] = element(from[i]);
      });
    };
    add_cast_peer<From, To>(cases, loop, rounding, cast, allowed);
  });
}

}  // namespace bench
