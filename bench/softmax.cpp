// SPDX-License-Identifier: Apache-2.0
// Softmax over rows of several lengths.
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

template <class In, class Out, class Run>
void add_rows(bench::suite& cases, std::string const& name, std::size_t columns, Run run) {
  cases.add<bench::traffic<bench::reads<In>, bench::writes<Out>>>(
      name + "/" + std::to_string(columns),
      [=](benchmark::State& state, std::size_t n) {
        bench::data memory;
        std::span<In const> const in = memory.random<In>(n, [](float x) { return typical * x; });
        std::span<Out> const out = memory.random<Out>(n);
        for (auto _ : state) {
          run(in, out, columns);
          benchmark::ClobberMemory();
        }
      },
      columns);
}

constexpr std::size_t lengths[] = {128, 1024, 8192};

template <class In, class Out = In>
void add_softmax(bench::suite& cases, std::string const& name) {
  for (std::size_t const columns : lengths)
    add_rows<In, Out>(cases, name, columns,
                      [](auto in, auto out, std::size_t n) { lowp::softmax(in, out, n); });
}

// What those had who had nothing but 16 bits, without and with CogView's PB-Relax.
template <class T>
void add_relaxed(bench::suite& cases, std::string const& name, float alpha) {
  for (std::size_t const columns : lengths)
    add_rows<T, T>(cases, name, columns, [=](auto in, auto out, std::size_t n) {
      lowp::softmax_pb_relax(in, out, n, alpha);
    });
}

void add_cases(bench::suite& cases) {
  add_softmax<float>(cases, "float");
  add_softmax<lowp::bfloat16>(cases, "bfloat16");
  add_softmax<lowp::float16>(cases, "float16");
  add_softmax<float, lowp::float16>(cases, "float->float16");
  add_relaxed<lowp::float16>(cases, "all_in/float16", 1);
  add_relaxed<lowp::float16>(cases, "pb_relax/float16", 32);
  add_relaxed<lowp::bfloat16>(cases, "all_in/bfloat16", 1);
}

}  // namespace

int main(int argc, char** argv) { return bench::run_suite("softmax", argc, argv, add_cases); }
