// SPDX-License-Identifier: Apache-2.0
// GELU, SiLU, norms over rows, behind residual sums too, embeddings, sums, clamp and scaling: what
// stands between the products of a transformer.
#include "harness/main.hpp"
#include "maps.hpp"

#include <benchmark/benchmark.h>
#include <lowp/lowp.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace {

template <class Traffic, class T, class Run>
void add(bench::suite& cases, std::string const& name, bench::map_input input, Run run) {
  cases.add<Traffic>(name, bench::timed_map<T, T>(input, run), input.least);
}

/// `run` takes the residual stream, zeros that are added to it, and the output.
template <class T, class Run>
void add_with_stream(bench::suite& cases, std::string const& name, Run run) {
  cases.add<bench::traffic<bench::reads<T>, bench::reads<T>, bench::writes<T>, bench::writes<T>>>(
      name,
      [=](benchmark::State& state, std::size_t n) {
        bench::data memory;
        std::span<T> const x = memory.random<T>(n), out = memory.random<T>(n);
        std::span<T const> const u = memory.random<T>(n, [](float) { return 0.0f; });
        for (auto _ : state) {
          run(x, u, out);
          benchmark::ClobberMemory();
        }
      },
      bench::norm_columns);
}

/// `run` takes rows of zeros, their ids and a table of as many rows. Two rows have an id.
template <class Traffic, class T, class Run>
void add_with_ids(bench::suite& cases, std::string const& name, Run run) {
  cases.add<Traffic>(
      name,
      [=](benchmark::State& state, std::size_t n) {
        bench::data memory;
        std::span<T> const rows = memory.random<T>(n, [](float) { return 0.0f; });
        std::span<T> const table = memory.random<T>(n);
        std::vector<std::int64_t> ids(n / bench::norm_columns);
        std::size_t const named = std::max<std::size_t>(1, ids.size() / 2);
        for (std::size_t r = 0; r < ids.size(); ++r)
          ids[r] = static_cast<std::int64_t>(r * 7919 % named);
        for (auto _ : state) {
          run(rows, ids, table);
          benchmark::ClobberMemory();
        }
      },
      bench::norm_columns);
}

template <class T>
void add_all(bench::suite& cases, std::string const& type) {
  using both = bench::map_traffic<T, T>;
  using reading = bench::traffic<bench::reads<T>>;
  bench::map_input const elements, rows{.least = bench::norm_columns};
  add<both, T>(cases, "gelu_tanh/" + type, elements,
               [](auto in, auto out) { bench::on::gelu_tanh(in, out); });
  add<both, T>(cases, "gelu/" + type, elements,
               [](auto in, auto out) { bench::on::gelu(in, out); });
  add<both, T>(cases, "silu/" + type, elements,
               [](auto in, auto out) { bench::on::silu(in, out); });
  bench::norm_parameters<T> const p;
  add<both, T>(cases, "rms_norm/" + type, rows, [p](auto in, auto out) {
    bench::on::rms_norm(in, p.weight, out, bench::norm_columns, bench::norm_eps);
  });
  add<both, T>(cases, "layer_norm/" + type, rows, [p](auto in, auto out) {
    bench::on::layer_norm(in, p.weight, p.bias, out, bench::norm_columns, bench::norm_eps);
  });
  add_with_stream<T>(cases, "add_rms_norm/" + type, [p](auto x, auto u, auto out) {
    bench::on::add_rms_norm(x, u, p.weight, out, bench::norm_columns, bench::norm_eps);
  });
  add_with_stream<T>(cases, "add_rms_norm in two calls/" + type, [p](auto x, auto u, auto out) {
    bench::on::fused_add(x, 1.0f, u);
    bench::on::rms_norm(x, p.weight, out, bench::norm_columns, bench::norm_eps);
  });
  add_with_stream<T>(cases, "add_layer_norm/" + type, [p](auto x, auto u, auto out) {
    bench::on::add_layer_norm(x, u, p.weight, p.bias, out, bench::norm_columns, bench::norm_eps);
  });
  add_with_stream<T>(cases, "add_layer_norm in two calls/" + type, [p](auto x, auto u, auto out) {
    bench::on::fused_add(x, 1.0f, u);
    bench::on::layer_norm(x, p.weight, p.bias, out, bench::norm_columns, bench::norm_eps);
  });
  add_with_ids<both, T>(cases, "gather_rows/" + type, [](auto out, auto const& ids, auto table) {
    bench::on::gather_rows(table, ids, out, bench::norm_columns);
  });
  add_with_ids<bench::traffic<bench::reads<T>, bench::reads<T>, bench::writes<T>>, T>(
      cases, "scatter_add_rows/" + type, [](auto dout, auto const& ids, auto table) {
        bench::on::scatter_add_rows(dout, ids, table, bench::norm_columns);
      });
  add<both, T>(cases, "scale_by_power_of_two, reported/" + type, elements, [](auto in, auto out) {
    lowp::scaling_report report;
    bench::on::scale_by_power_of_two(in, out, -3, report);
    benchmark::DoNotOptimize(report);
  });
  add<reading, T>(cases, "sum/" + type, elements,
                  [](auto in, auto) { benchmark::DoNotOptimize(bench::on::sum(in)); });
  add<reading, T>(cases, "clamp_overflow of nothing/" + type, elements,
                  [](auto, auto out) { benchmark::DoNotOptimize(bench::on::clamp_overflow(out)); });
}

void add_cases(bench::suite& cases) {
  add_all<float>(cases, "float");
  add_all<lowp::bfloat16>(cases, "bfloat16");
  add_all<lowp::float16>(cases, "float16");
}

}  // namespace

int main(int argc, char** argv) { return bench::run_suite("pieces", argc, argv, add_cases); }
