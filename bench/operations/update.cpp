// SPDX-License-Identifier: Apache-2.0
// Optimizer steps. Types are those of parameter, gradient and moments, in that order.
#include "adamw.hpp"
#include "harness/main.hpp"

#include <lowp/lowp.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace {

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
          bench::on::update(p, g, momentum, optimizer, bench::step, rounding);
          benchmark::ClobberMemory();
        }
      });
}

template <class P, class G, class M, class V, class Rounding, class... Report>
void add_adamw(bench::suite& cases, std::string const& name, Rounding rounding, Report... report) {
  auto const update = [=](std::span<P> p, std::span<G const> g, std::span<M> m,
                          std::span<V> v) mutable {
    bench::on::update(p, g, m, v, lowp::adamw{}, bench::step, rounding, report...);
  };
  cases.add<bench::adamw_traffic<P, G, M, V>>("adamw/" + name,
                                              bench::timed_adamw<P, G, M, V>(update));
}

/// Adds steps of n / 64 tensors: `update` takes a list of them.
void add_small_tensors(bench::suite& cases, std::string const& name, auto update) {
  using lowp::bfloat16;
  using tensor = lowp::adamw_tensor<bfloat16, bfloat16, bfloat16, bfloat16>;
  cases.add<bench::adamw_traffic<bfloat16, bfloat16, bfloat16, bfloat16>>(
      "adamw/tensors_of_64/" + name, [=](benchmark::State& state, std::size_t n) {
        bench::data data;
        auto const p = data.random<bfloat16>(n), g = data.random<bfloat16>(n),
                   m = data.random<bfloat16>(n);
        auto const v = data.random<bfloat16>(n, [](float x) { return x * x; });
        std::vector<tensor> list;
        for (std::size_t i = 0; i + 64 <= n; i += 64)
          list.push_back({p.subspan(i, 64), g.subspan(i, 64), m.subspan(i, 64), v.subspan(i, 64)});
        for (auto _ : state) {
          update(list);
          benchmark::ClobberMemory();
        }
      });
}

void add_updates(bench::suite& cases) {
  using lowp::bfloat16;
  lowp::nearest_even const nearest;
  lowp::stochastic const stochastic{.seed = 1};
  lowp::stochastic_fast const fast{.seed = 1};
  lowp::per_slot const slots{.param = stochastic, .first = stochastic, .second = stochastic};
  std::string const mixed = "bfloat16,bfloat16,float", all = "bfloat16,bfloat16,bfloat16";

  lowp::adamw const adamw;
  add_small_tensors(cases, "list",
                    [=](auto& list) { bench::on::update(list, adamw, bench::step, nearest); });
  add_small_tensors(cases, "single_calls", [=](auto& list) {
    for (auto const& each : list)
      bench::on::update(each.p, each.g, each.m, each.v, adamw, bench::step, nearest);
  });

  add_sgd<bfloat16, bfloat16, float>(cases, mixed + "/nearest_even", nearest);
  add_sgd<bfloat16, bfloat16, float>(cases, mixed + "/stochastic", stochastic);
  add_sgd<bfloat16, bfloat16, bfloat16>(cases, all + "/stochastic", stochastic);
  add_sgd<float, float, float>(cases, "float,float,float/nearest_even", nearest);

  add_adamw<bfloat16, bfloat16, float, float>(cases, mixed + ",float/nearest_even", nearest);
  add_adamw<bfloat16, bfloat16, float, float>(cases, mixed + ",float/stochastic", stochastic);
  add_adamw<bfloat16, bfloat16, float, float>(cases, mixed + ",float/stochastic,report", stochastic,
                                              lowp::update_report{});
  add_adamw<bfloat16, bfloat16, float, float>(cases, mixed + ",float/stochastic_fast", fast);
  add_adamw<bfloat16, bfloat16, float, float>(cases, mixed + ",float/stochastic_fast,report", fast,
                                              lowp::update_report{});
  add_adamw<bfloat16, bfloat16, bfloat16, bfloat16>(cases, all + ",bfloat16/nearest_even", nearest);
  add_adamw<bfloat16, bfloat16, bfloat16, bfloat16>(cases, all + ",bfloat16/nearest_even,report",
                                                    nearest, lowp::update_report{});
  add_adamw<bfloat16, bfloat16, bfloat16, bfloat16>(
      cases, all + ",bfloat16/nearest_even,moment_report", nearest, lowp::moment_report{});
  add_adamw<bfloat16, bfloat16, bfloat16, bfloat16>(cases, all + ",bfloat16/stochastic_fast", fast);
  add_adamw<bfloat16, bfloat16, bfloat16, bfloat16>(cases, all + ",bfloat16/per_slot", slots);
  add_adamw<float, float, float, float>(cases, "float,float,float,float/nearest_even", nearest);
}

}  // namespace

int main(int argc, char** argv) { return bench::run_suite("update", argc, argv, add_updates); }
