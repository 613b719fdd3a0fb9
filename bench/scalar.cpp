// SPDX-License-Identifier: Apache-2.0
// Loops of scalars, as a template for float has them: what a narrow type costs in its place. Every
// operator rounds and is a number of integer instructions; in float a compiler makes packs of them.
#include "harness/main.hpp"

#include <benchmark/benchmark.h>
#include <lowp/lowp.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace {

template <class T>
void add_axpy(bench::suite& cases, std::string const& type) {
  cases.add<bench::traffic<bench::changes<T>, bench::reads<T>>>(
      "y+=a*x/" + type, [](benchmark::State& state, std::size_t n) {
        bench::data memory;
        std::span<T> const y = memory.random<T>(n);
        std::span<T const> const x = memory.random<T>(n);
        T a(0.01f);
        for (auto _ : state) {
          for (std::size_t i = 0; i < n; ++i) y[i] += a * x[i];
          benchmark::ClobberMemory();
          a = -a;  // or y would grow with the number of iterations
        }
      });
}

void add_loops(bench::suite& cases) {
  add_axpy<float>(cases, "float");
  add_axpy<lowp::bfloat16>(cases, "bfloat16");
  add_axpy<lowp::float16>(cases, "float16");
  add_axpy<lowp::float8_e4m3fn>(cases, "float8_e4m3fn");
}

}  // namespace

int main(int argc, char** argv) { return bench::run_suite("scalar", argc, argv, add_loops); }
