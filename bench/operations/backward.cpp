// SPDX-License-Identifier: Apache-2.0
// Derivatives of softmax, norms, GELU, SiLU and cross-entropy, over rows of 1024 columns.
#include "harness/main.hpp"
#include "maps.hpp"

#include <benchmark/benchmark.h>
#include <lowp/nn.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace {

constexpr std::size_t columns = bench::norm_columns;

/// `make(x)` returns a function of dy and dx, which is timed. Numbers of rows and columns are left
/// out of the traffic.
template <class T, class Make, class Shape = std::identity>
void add(bench::suite& cases, std::string const& name, Make make, Shape shape = {}) {
  cases.add<bench::traffic<bench::reads<T>, bench::reads<T>, bench::writes<T>>>(
      name,
      [=](benchmark::State& state, std::size_t n) {
        bench::data memory;
        std::span<T const> const x = memory.random<T>(n, shape), dy = memory.random<T>(n);
        std::span<T> const dx = memory.random<T>(n);
        auto run = make(x);
        for (auto _ : state) {
          run(dy, dx);
          benchmark::ClobberMemory();
        }
      },
      columns);
}

template <class T>
auto rms_norm(std::span<T const> x) {
  bench::norm_parameters<T> const p;
  std::vector<float> rms(x.size() / columns), dweight(columns);
  std::vector<T> y(x.size());
  bench::on::rms_norm(x, p.weight, y, columns, bench::norm_eps, rms);
  return [=](auto dy, auto dx) mutable {
    bench::on::rms_norm_backward(x, p.weight, dy, rms, dx, dweight, columns);
  };
}
template <class T>
auto layer_norm(std::span<T const> x) {
  bench::norm_parameters<T> const p;
  std::vector<float> mean(x.size() / columns), deviation(mean), dweight(columns), dbias(columns);
  std::vector<T> y(x.size());
  bench::on::layer_norm(x, p.weight, p.bias, y, columns, bench::norm_eps, mean, deviation);
  return [=](auto dy, auto dx) mutable {
    bench::on::layer_norm_backward(x, p.weight, dy, mean, deviation, dx, dweight, dbias, columns);
  };
}
/// The losses too: it is one pass.
template <class T>
auto cross_entropy(std::span<T const> x) {
  std::vector<float> losses(x.size() / columns);
  std::vector<std::int64_t> labels(losses.size());
  for (std::size_t i = 0; i < labels.size(); ++i)
    labels[i] = static_cast<std::int64_t>(37 * i % columns);
  return [=](auto, auto dx) mutable {
    bench::on::cross_entropy(x, labels, columns, lowp::cross_entropy_options{}, losses, dx);
  };
}

template <class T>
void add_all(bench::suite& cases, std::string const& type) {
  add<T>(
      cases, "softmax/" + type,
      [](auto y) {
        return [y](auto dy, auto dx) { bench::on::softmax_backward(y, dy, dx, columns); };
      },
      [](float x) { return std::fabs(x) / columns; });
  add<T>(
      cases, "log_softmax/" + type,
      [](auto y) {
        return [y](auto dy, auto dx) { bench::on::log_softmax_backward(y, dy, dx, columns); };
      },
      [](float x) { return -std::fabs(x) - 6.5f; });
  add<T>(cases, "rms_norm/" + type, [](auto x) { return rms_norm<T>(x); });
  add<T>(cases, "layer_norm/" + type, [](auto x) { return layer_norm<T>(x); });
  add<T>(cases, "gelu_tanh/" + type, [](auto x) {
    return [x](auto dy, auto dx) { bench::on::gelu_tanh_backward(x, dy, dx); };
  });
  add<T>(cases, "gelu/" + type,
         [](auto x) { return [x](auto dy, auto dx) { bench::on::gelu_backward(x, dy, dx); }; });
  add<T>(cases, "silu/" + type,
         [](auto x) { return [x](auto dy, auto dx) { bench::on::silu_backward(x, dy, dx); }; });
  add<T>(
      cases, "cross_entropy/" + type, [](auto x) { return cross_entropy<T>(x); },
      [](float x) { return bench::scores * x; });
}

void add_cases(bench::suite& cases) {
  add_all<float>(cases, "float");
  add_all<lowp::bfloat16>(cases, "bfloat16");
}

}  // namespace

int main(int argc, char** argv) { return bench::run_suite("backward", argc, argv, add_cases); }
