// SPDX-License-Identifier: Apache-2.0
// Softmax over rows of several lengths: in float inside, and for comparison as it is where there are 16
// bits for every step, plain and with PB-Relax.
#include "main.hpp"
#include "suite.hpp"

#include <benchmark/benchmark.h>
#include <lowp/pb_relax.hpp>
#include <lowp/softmax.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace {

// Scores as attention has them.
constexpr float typical = 3.0F;

template <class T, class Run>
void add_rows(bench::suite& cases, std::string const& name, std::size_t columns, Run run) {
  cases.add<bench::traffic<bench::reads<T>, bench::writes<T>>>(
      name + "/" + std::to_string(columns),
      [=](benchmark::State& state, std::size_t n) {
        bench::data memory;
        std::span<T const> const in = memory.random<T>(n, [](float x) { return typical * x; });
        std::span<T> const out = memory.random<T>(n);
        for (auto _ : state) {
          run(in, out, columns);
          benchmark::ClobberMemory();
        }
      },
      columns);
}

template <class T>
void add_softmax(bench::suite& cases, std::string const& type) {
  for (std::size_t const columns : {128, 1024, 8192}) {
    add_rows<T>(cases, type, columns,
                [](auto in, auto out, std::size_t n) { lowp::softmax(in, out, n); });
  }
}

template <class T>
void add_narrow(bench::suite& cases, std::string const& type) {
  add_softmax<T>(cases, type);
  for (std::size_t const columns : {128, 1024, 8192}) {
    add_rows<T>(cases, "every_step/" + type, columns,
                [](auto in, auto out, std::size_t n) { lowp::softmax_pb_relax(in, out, n, 1.0F); });
    add_rows<T>(cases, "pb_relax/" + type, columns, [](auto in, auto out, std::size_t n) {
      lowp::softmax_pb_relax(in, out, n, 32.0F);
    });
  }
}

void add_cases(bench::suite& cases) {
  add_softmax<float>(cases, "float");
  add_narrow<lowp::bfloat16>(cases, "bfloat16");
  add_narrow<lowp::float16>(cases, "float16");
}

}  // namespace

int main(int argc, char** argv) { return bench::run_suite("softmax", argc, argv, add_cases); }
