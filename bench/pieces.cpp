// SPDX-License-Identifier: Apache-2.0
// GELU, norms over rows, sums, clamp and scaling: what stands between the products of a transformer.
#include "main.hpp"
#include "suite.hpp"

#include <benchmark/benchmark.h>
#include <lowp/lowp.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace {

constexpr float typical = 2.0F;
constexpr std::size_t columns = 1024;

template <class Traffic, class T, class Run>
void add_map(bench::suite& cases, std::string const& name, Run run, std::size_t least = 1) {
  cases.add<Traffic>(
      name,
      [=](benchmark::State& state, std::size_t n) {
        bench::data memory;
        std::span<T const> const in = memory.random<T>(n, [](float x) { return typical * x; });
        std::span<T> const out = memory.random<T>(n);
        for (auto _ : state) {
          run(in, out);
          benchmark::ClobberMemory();
        }
      },
      least);
}

template <class T>
void add_all(bench::suite& cases, std::string const& type) {
  using bench::reads, bench::traffic, bench::writes;
  add_map<traffic<reads<T>, writes<T>>, T>(cases, "gelu_tanh/" + type,
                                           [](auto in, auto out) { lowp::gelu_tanh(in, out); });
  add_map<traffic<reads<T>, writes<T>>, T>(
      cases, "rms_norm/" + type,
      [](auto in, auto out) { lowp::rms_norm(in, in.first(columns), out, columns, 1e-6F); },
      columns);
  add_map<traffic<reads<T>, writes<T>>, T>(
      cases, "layer_norm/" + type,
      [](auto in, auto out) {
        lowp::layer_norm(in, in.first(columns), in.first(columns), out, columns, 1e-6F);
      },
      columns);
  add_map<traffic<reads<T>, writes<T>>, T>(cases, "scale_by_power_of_two, reported/" + type,
                                           [](auto in, auto out) {
                                             lowp::scaling_report report;
                                             lowp::scale_by_power_of_two(in, out, -3, report);
                                             benchmark::DoNotOptimize(report);
                                           });
  add_map<traffic<reads<T>>, T>(cases, "sum/" + type,
                                [](auto in, auto) { benchmark::DoNotOptimize(lowp::sum(in)); });
  add_map<traffic<reads<T>>, T>(cases, "clamp_overflow of nothing/" + type, [](auto, auto out) {
    benchmark::DoNotOptimize(lowp::clamp_overflow(out));
  });
}

void add_cases(bench::suite& cases) {
  add_all<float>(cases, "float");
  add_all<lowp::bfloat16>(cases, "bfloat16");
  add_all<lowp::float16>(cases, "float16");
}

}  // namespace

int main(int argc, char** argv) { return bench::run_suite("pieces", argc, argv, add_cases); }
