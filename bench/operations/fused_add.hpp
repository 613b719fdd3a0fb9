// SPDX-License-Identifier: Apache-2.0
// Times fused additions: the library's and everybody else's.
#pragma once

#include "harness/peer.hpp"
#include "harness/suite.hpp"

#include <benchmark/benchmark.h>
#include <lowp/lowp.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace bench {

template <class P, class U>
using fused_add_traffic = traffic<changes<P>, reads<U>>;

/// `add` takes the elements to change, the factor, and the elements to add.
template <class P, class U, class Add>
auto timed_fused_add(Add add) {
  return [=](benchmark::State& state, std::size_t n) {
    data memory;
    auto own_add = add;  // counts into a report of its own
    std::span<P> const p = memory.random<P>(n);
    std::span<U const> const u = memory.random<U>(n);
    float alpha = 0.01f;
    for (auto _ : state) {
      own_add(p, alpha, u);
      benchmark::ClobberMemory();
      alpha = -alpha;  // or p would grow with the number of iterations
    }
  };
}

/// Somebody else's addition, which is to give what lowp::fused_add with `rounding` gives.
template <class P, class U, class Rounding, class Add>
void add_fused_add_peer(suite& cases, std::string const& name, Rounding rounding, Add add,
                        own_way allowed = {}) {
  auto const find_difference = [=] {
    std::vector<P> expected = patterns<P>();
    std::vector<U> u = patterns<U>();
    u.resize(expected.size(), U(1));
    std::vector<P> found = expected;
    lowp::fused_add(expected, 0.01f, u, rounding);
    add(std::span<P>(found), 0.01f, std::span<U const>(u));
    return difference<P>(found, expected, allowed, [](std::size_t) { return false; });
  };
  cases.add_peer<fused_add_traffic<P, U>>(name,
                                          verified(find_difference, timed_fused_add<P, U>(add)));
}

}  // namespace bench
