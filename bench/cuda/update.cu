// SPDX-License-Identifier: Apache-2.0
// Steps of AdamW on one large tensor, and on a list of many small ones.
#include "suite.cuh"

#include <lowp/cuda/lowp.cuh>

#include <cmath>

namespace {

using namespace lowp;
using T = bfloat16;

constexpr adamw optimizer{.lr = 1e-3};
constexpr std::uint64_t step = 1000;
constexpr stochastic rounding{.seed = 20110516};

/// Parameters, gradients and moments of the sizes that training has.
template <class M>
struct operands {
  bench::rotation<T> p, g;
  bench::rotation<M> m, v;

  operands(bench::suite& all, std::size_t count)
      : p(all.random<T>(count, bench::normal{2e-2f})),
        g(all.random<T>(count, bench::normal{1e-2f})),
        m(all.random<M>(count, bench::normal{1e-3f})),
        v(all.random<M>(count, bench::squared_normal{1e-2f})) {}

  static constexpr std::size_t bytes = 2 * sizeof(T) + sizeof(T) + 2 * 2 * sizeof(M);
};

void expect_same(update_report const& found, update_report const& expected) {
  auto const close = [](exact_sum const& a, exact_sum const& b) {
    return std::abs(a.value() - b.value()) <= 1e-12 * std::abs(b.value());
  };
  if (found.count != expected.count || found.stalled != expected.stalled ||
      found.overflowed != expected.overflowed || found.nonfinite != expected.nonfinite ||
      !close(found.applied, expected.applied) || !close(found.requested, expected.requested))
    throw std::runtime_error("the report differs from the host's");
}

template <class M, bool IsReported>
void measure_tensor(bench::suite& all, bench::subject const& what) {
  all.measure(what, [&] {
    operands<M> const x(all, what.elements);
    auto* const report = all.zero<update_report>();
    auto const run = [&](cudaStream_t stream, std::size_t i) {
      if constexpr (IsReported)
        lowp::cuda::update(stream, x.p[i], x.g[i], x.m[i], x.v[i], optimizer, step, rounding,
                           report);
      else
        lowp::cuda::update(stream, x.p[i], x.g[i], x.m[i], x.v[i], optimizer, step, rounding);
    };
    update_report expected;
    all.check(
        run,
        [&](std::size_t first, std::span<T> p, std::span<T> g, std::span<M> m, std::span<M> v) {
          auto const here = bench::from_element(rounding, first);
          if constexpr (IsReported)
            lowp::update(p, g, m, v, optimizer, step, here, expected);
          else
            lowp::update(p, g, m, v, optimizer, step, here);
        },
        x.p, x.g, x.m, x.v);
    expect_same(all.value_of(report), expected);
    return all.time(run);
  });
}

template <class M, bool IsReported = false>
void measure_large(bench::suite& all, std::string const& moments, std::string const& how) {
  measure_tensor<M, IsReported>(
      all, {"update/adamw/bfloat16,bfloat16," + moments + "/" + how + "/lowp", bench::many,
            bench::many * operands<M>::bytes, bench::sets_of(bench::many * sizeof(T))});
}

using tensor_list = std::vector<cuda::adamw_tensor<T, T, T, T>>;

tensor_list list_of(std::vector<std::size_t> const& sizes, std::span<T> p, std::span<T> g,
                    std::span<T> m, std::span<T> v) {
  tensor_list list;
  std::size_t first = 0;
  for (std::size_t const size : sizes) {
    list.push_back({p.subspan(first, size), g.subspan(first, size), m.subspan(first, size),
                    v.subspan(first, size)});
    first += size;
  }
  return list;
}

/// The list, and one tensor with as many elements.
void measure_list(bench::suite& all, std::string const& name,
                  std::vector<std::size_t> const& sizes) {
  std::size_t count = 0;
  for (std::size_t const size : sizes) count += size;
  bench::subject what{"update/adamw_list/" + name + "/stochastic/lowp", count,
                      count * operands<T>::bytes, bench::sets_of(count * 4 * sizeof(T)), sizes};
  all.measure(what, [&] {
    operands<T> const x(all, count);
    std::vector<tensor_list> lists;
    for (std::size_t i = 0; i < what.sets; ++i)
      lists.push_back(list_of(sizes, x.p[i], x.g[i], x.m[i], x.v[i]));
    auto const run = [&](cudaStream_t stream, std::size_t i) {
      lowp::cuda::update(stream, lists[i % lists.size()], optimizer, step, rounding);
    };
    all.check(
        run,
        [&](std::size_t first, std::span<T> p, std::span<T> g, std::span<T> m, std::span<T> v) {
          if (first != 0) throw std::logic_error("a list is checked in one part");
          std::uint32_t number = 0;
          for (auto const& each : list_of(sizes, p, g, m, v))
            lowp::update(each.p, each.g, each.m, each.v, optimizer, step,
                         rounding.of_tensor(number++));
        },
        x.p, x.g, x.m, x.v);
    return all.time(run);
  });
  what.name = "update/adamw_list/" + name + "/stochastic/lowp_one_tensor";
  what.tensors.clear();
  measure_tensor<T, false>(all, what);
}

std::vector<std::size_t> repeated(int times, std::vector<std::size_t> const& sizes) {
  std::vector<std::size_t> all;
  for (int i = 0; i < times; ++i) all.insert(all.end(), sizes.begin(), sizes.end());
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](bench::suite& all) {
    measure_large<T>(all, "bfloat16,bfloat16", "stochastic");
    measure_large<T, true>(all, "bfloat16,bfloat16", "stochastic,report");
    measure_large<float>(all, "float,float", "stochastic");
    measure_large<float, true>(all, "float,float", "stochastic,report");

    // 40 encoder layers of width 1024: biases of the four projections and of the feed-forward
    // network, scales and biases of two normalizations.
    constexpr int layers = bench::is_rehearsal ? 1 : 40;
    constexpr std::size_t width = 1024;
    measure_list(all, "400_biases_and_norms",
                 repeated(layers, {width, width, width, width, 4 * width, width, width, width,
                                   width, width}));
    // 40 layers of width 4096 with adapters of rank 16: a pair of factors at query, key, value,
    // output and one projection of the feed-forward network.
    constexpr std::size_t rank = bench::is_rehearsal ? 1 : 16, factor = rank * 4096,
                          wide = rank * 11008;
    measure_list(all, "400_adapters",
                 repeated(layers, {factor, factor, factor, factor, factor, factor, factor, factor,
                                   factor, wide}));
  });
}
