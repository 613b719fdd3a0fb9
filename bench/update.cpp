// SPDX-License-Identifier: Apache-2.0
// Optimizer steps. Types are those of parameter, gradient and moments, in that order.
#include "main.hpp"

#include <lowp/lowp.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace {

constexpr std::uint64_t step = 10;  // sgd's first step does less

template <class P, class G, class M, class Rounding>
void add_sgd(bench::suite& cases, std::string const& name, Rounding rounding) {
  cases.add<bench::traffic<bench::changes<P>, bench::reads<G>, bench::changes<M>>>(
      "sgd_momentum/" + name, [=](benchmark::State& state, std::size_t n) {
        bench::data data;
        auto const p = data.random<P>(n);
        auto const g = data.random<G>(n);
        auto const momentum = data.random<M>(n);
        lowp::sgd const optimizer{.lr = 1e-3, .momentum = 0.9};
        for (auto _ : state) {
          lowp::update(p, g, momentum, optimizer, step, rounding);
          benchmark::ClobberMemory();
        }
      });
}

template <class P, class G, class M, class V, class Rounding, class... Report>
void add_adamw(bench::suite& cases, std::string const& name, Rounding rounding, Report... report) {
  using traffic =
      bench::traffic<bench::changes<P>, bench::reads<G>, bench::changes<M>, bench::changes<V>>;
  cases.add<traffic>("adamw/" + name, [=](benchmark::State& state, std::size_t n) mutable {
    bench::data data;
    auto const p = data.random<P>(n);
    auto const g = data.random<G>(n);
    auto const m = data.random<M>(n);
    auto const v = data.random<V>(n, [](float x) { return x * x; });
    for (auto _ : state) {
      lowp::update(p, g, m, v, lowp::adamw{}, step, rounding, report...);
      benchmark::ClobberMemory();
    }
  });
}

void add_updates(bench::suite& cases) {
  using lowp::bfloat16;
  lowp::nearest_even const nearest;
  lowp::stochastic const stochastic{.seed = 1};
  lowp::per_slot const slots{.param = stochastic, .first = stochastic, .second = stochastic};
  std::string const mixed = "bfloat16,bfloat16,float", all = "bfloat16,bfloat16,bfloat16";

  add_sgd<bfloat16, bfloat16, float>(cases, mixed + "/nearest_even", nearest);
  add_sgd<bfloat16, bfloat16, float>(cases, mixed + "/stochastic", stochastic);
  add_sgd<bfloat16, bfloat16, bfloat16>(cases, all + "/stochastic", stochastic);
  add_sgd<float, float, float>(cases, "float,float,float/nearest_even", nearest);

  add_adamw<bfloat16, bfloat16, float, float>(cases, mixed + ",float/nearest_even", nearest);
  add_adamw<bfloat16, bfloat16, float, float>(cases, mixed + ",float/stochastic", stochastic);
  add_adamw<bfloat16, bfloat16, float, float>(cases, mixed + ",float/stochastic,report", stochastic,
                                              lowp::update_report{});
  add_adamw<bfloat16, bfloat16, bfloat16, bfloat16>(cases, all + ",bfloat16/per_slot", slots);
  add_adamw<float, float, float, float>(cases, "float,float,float,float/nearest_even", nearest);
}

}  // namespace

int main(int argc, char** argv) { return bench::run_suite("update", argc, argv, add_updates); }
