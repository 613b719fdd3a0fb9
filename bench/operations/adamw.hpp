// SPDX-License-Identifier: Apache-2.0
// Times AdamW: the library's and everybody else's.
#pragma once

#include "harness/peer.hpp"
#include "harness/suite.hpp"

#include <benchmark/benchmark.h>
#include <lowp/lowp.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace bench {

inline constexpr std::uint64_t step = 10;  // sgd's first step does less

template <class P, class G, class M, class V>
using adamw_traffic = traffic<changes<P>, reads<G>, changes<M>, changes<V>>;

/// `update` takes parameters, gradients, first and second moments.
template <class P, class G, class M, class V, class Update>
auto timed_adamw(Update update) {
  return [=](benchmark::State& state, std::size_t n) {
    data memory;
    auto own_update = update;  // counts into a report of its own
    std::span<P> const p = memory.random<P>(n);
    std::span<G const> const g = memory.random<G>(n);
    std::span<M> const m = memory.random<M>(n);
    std::span<V> const v = memory.random<V>(n, [](float x) { return x * x; });
    for (auto _ : state) {
      own_update(p, g, m, v);
      benchmark::ClobberMemory();
    }
  };
}

/// Somebody else's step in float, which is to give what lowp::update gives.
template <class Update>
void add_adamw_peer(suite& cases, std::string const& name, Update update) {
  auto const find_difference = [=] {
    std::size_t const n = 64 << 10;
    data memory;
    auto const copy = [](std::span<float> values) {
      return std::vector<float>(values.begin(), values.end());
    };
    std::span<float> const p = memory.random<float>(n), g = memory.random<float>(n),
                           m = memory.random<float>(n),
                           v = memory.random<float>(n, [](float x) { return x * x; });
    std::vector<float> own_p = copy(p), own_m = copy(m), own_v = copy(v);
    lowp::update(own_p, g, own_m, own_v, lowp::adamw{}, step);
    update(p, std::span<float const>(g), m, v);
    auto const compare = [](std::span<float const> found, std::span<float const> expected) {
      return difference<float>(found, expected, {}, [](std::size_t) { return false; });
    };
    return compare(p, own_p).append(compare(m, own_m)).append(compare(v, own_v));
  };
  cases.add_peer<adamw_traffic<float, float, float, float>>(
      name, verified(find_difference, timed_adamw<float, float, float, float>(update)));
}

}  // namespace bench
