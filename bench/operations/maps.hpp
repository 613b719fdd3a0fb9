// SPDX-License-Identifier: Apache-2.0
// Operations whose results are not exact, from one array to another: softmax, and what stands
// between the products of a transformer. Times the library's and everybody else's.
#pragma once

#include "harness/peer.hpp"
#include "harness/suite.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace bench {

/// Standard deviations: of scores as attention has them, of activations.
inline constexpr float scores = 3, activations = 2;
inline constexpr std::size_t softmax_columns[] = {128, 1024, 8192};
inline constexpr std::size_t norm_columns = 1024;
inline constexpr float norm_eps = 1e-6f;

/// A factor and a summand for each column.
template <class T>
struct norm_parameters {
  std::vector<T> weight, bias;

  norm_parameters() {
    for (std::size_t i = 0; i < norm_columns; ++i) {
      float const x = static_cast<float>(i) / norm_columns;
      weight.push_back(static_cast<T>(1 + x));
      bias.push_back(static_cast<T>(x - 0.5f));
    }
  }
};

template <class In, class Out>
using map_traffic = traffic<reads<In>, writes<Out>>;

/// Normal numbers of a standard deviation, of which a case takes `least` or more.
struct map_input {
  float deviation = activations;
  std::size_t least = 1;

  template <class T>
  std::span<T const> take(data& memory, std::size_t n) const {
    return memory.random<T>(n, [this](float x) { return deviation * x; });
  }
};

/// `run` takes the elements to read and those to write.
template <class In, class Out, class Run>
auto timed_map(map_input input, Run run) {
  return [=](benchmark::State& state, std::size_t n) {
    data memory;
    auto const in = input.take<In>(memory, n);
    std::span<Out> const out = memory.random<Out>(n);
    for (auto _ : state) {
      run(in, out);
      benchmark::ClobberMemory();
    }
  };
}

/// Somebody else's operation, which is to give what `own`, the library's, gives.
template <class T, class Own, class Run>
void add_map_peer(suite& cases, std::string const& name, map_input input, Own own, Run run,
                  tolerance allowed) {
  auto const find_difference = [=] {
    data memory;
    auto const in = input.take<T>(memory, std::max<std::size_t>(input.least, 32 << 10));
    std::vector<T> expected(in.size()), found(in.size());
    own(in, std::span<T>(expected));
    run(in, std::span<T>(found));
    return distance<T>(found, expected, allowed);
  };
  cases.add_peer<map_traffic<T, T>>(name, verified(find_difference, timed_map<T, T>(input, run)),
                                    input.least);
}

}  // namespace bench
