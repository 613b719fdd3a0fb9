// SPDX-License-Identifier: Apache-2.0
// Counts, range and rounding errors of a tensor, and for comparison its range and its norm alone.
#include "harness/main.hpp"
#include "harness/suite.hpp"

#include <benchmark/benchmark.h>
#include <lowp/lowp.hpp>
#include <lowp/measure.hpp>
#include <lowp/update.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace {

// Weights as a layer of 2500 inputs has them.
constexpr float typical = 0.02f;

template <class From, class Look>
void add_reading(bench::suite& cases, std::string const& name, Look look) {
  cases.add<bench::traffic<bench::reads<From>>>(name, [=](benchmark::State& state, std::size_t n) {
    bench::data memory;
    std::span<From const> const in = memory.random<From>(n, [](float x) { return typical * x; });
    for (auto _ : state) benchmark::DoNotOptimize(look(in));
  });
}

template <class From, class To>
void add_census(bench::suite& cases, std::string const& name) {
  add_reading<From>(cases, name, [](auto in) { return bench::on::census<To>(in); });
}

void add_cases(bench::suite& cases) {
  add_census<float, lowp::bfloat16>(cases, "float->bfloat16");
  add_census<float, lowp::float16>(cases, "float->float16");
  add_census<float, lowp::float8_e4m3fn>(cases, "float->float8_e4m3fn");
  add_census<lowp::bfloat16, lowp::float16>(cases, "bfloat16->float16");
  add_census<lowp::bfloat16, lowp::float8_e4m3fn>(cases, "bfloat16->float8_e4m3fn");
  add_census<lowp::float16, lowp::float8_e4m3fn>(cases, "float16->float8_e4m3fn");
  add_reading<float>(cases, "abs_range/float->float16",
                     [](auto in) { return bench::on::abs_range_of<lowp::float16>(in); });
  add_reading<lowp::bfloat16>(cases, "abs_range/bfloat16->float16",
                              [](auto in) { return bench::on::abs_range_of<lowp::float16>(in); });
  add_reading<float>(cases, "measure/float", [](auto in) { return bench::on::measure(in); });
  add_reading<lowp::bfloat16>(cases, "measure/bfloat16",
                              [](auto in) { return bench::on::measure(in); });
}

}  // namespace

int main(int argc, char** argv) { return bench::run_suite("census", argc, argv, add_cases); }
