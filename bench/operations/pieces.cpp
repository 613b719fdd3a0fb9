// SPDX-License-Identifier: Apache-2.0
// GELU, SiLU, norms over rows, sums, clamp and scaling: what stands between the products of a
// transformer.
#include "harness/main.hpp"
#include "maps.hpp"

#include <benchmark/benchmark.h>
#include <lowp/lowp.hpp>

#include <span>
#include <string>

namespace {

template <class Traffic, class T, class Run>
void add(bench::suite& cases, std::string const& name, bench::map_input input, Run run) {
  cases.add<Traffic>(name, bench::timed_map<T, T>(input, run), input.least);
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
