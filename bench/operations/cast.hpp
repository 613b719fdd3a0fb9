// SPDX-License-Identifier: Apache-2.0
// Times casts: the library's and everybody else's.
#pragma once

#include "harness/peer.hpp"
#include "harness/suite.hpp"

#include <benchmark/benchmark.h>
#include <lowp/lowp.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace bench {

template <class From, class To>
using cast_traffic = traffic<reads<From>, writes<To>>;

/// `cast` takes the elements to read and those to write.
template <class From, class To, class Cast>
auto timed_cast(Cast cast) {
  return [=](benchmark::State& state, std::size_t n) {
    data memory;
    std::span<From const> const in = memory.random<From>(
        n, [](float x) { return std::numeric_limits<From>::is_signed ? x : std::abs(x); });
    std::span<To> const out = memory.random<To>(n);
    for (auto _ : state) {
      cast(in, out);
      benchmark::ClobberMemory();
    }
  };
}

/// Somebody else's cast, which is to give what lowp::cast with `rounding` gives.
template <class From, class To, class Rounding, class Cast>
void add_cast_peer(suite& cases, std::string const& name, Rounding rounding, Cast cast,
                   own_way allowed = {}) {
  auto const find_difference = [=] {
    std::vector<From> const in = patterns<From>();
    std::vector<To> expected(in.size()), found(in.size());
    lowp::cast(in, expected, rounding);
    cast(std::span<From const>(in), std::span<To>(found));
    return difference<To>(found, expected, allowed, [&](std::size_t i) {
      return allowed.subnormal_inputs &&
             std::abs(static_cast<float>(in[i])) < std::numeric_limits<From>::min();
    });
  };
  cases.add_peer<cast_traffic<From, To>>(name,
                                         verified(find_difference, timed_cast<From, To>(cast)));
}

}  // namespace bench
