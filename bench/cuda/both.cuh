// SPDX-License-Identifier: Apache-2.0
// Calls of the library that a device and the host take with the same arguments.
#pragma once

#include "suite.cuh"

#include <lowp/cuda/lowp.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>

namespace bench {

#define BENCH_BOTH(X)                                                                         \
  X(cast)                                                                                     \
  X(update) X(softmax) X(log_softmax) X(scale_mask_softmax) X(softmax_pb_relax)               \
      X(softmax_backward) X(rms_norm) X(layer_norm) X(add_rms_norm) X(cross_entropy) X(gelu)  \
          X(gelu_tanh) X(gated_silu) X(gelu_backward) X(block_cast) X(quantize) X(dequantize) \
              X(gather_rows) X(add_rows)

/// on.NAME(...) calls lowp::NAME, on the host or on a stream.
struct host {
  static constexpr bool is_device = false;
#define BENCH_CALL(name) \
  void name(auto... arguments) const { lowp::name(arguments...); }
  BENCH_BOTH(BENCH_CALL)
#undef BENCH_CALL
};
struct device {
  static constexpr bool is_device = true;
  cudaStream_t stream;
#define BENCH_CALL(name) \
  void name(auto... arguments) const { lowp::cuda::name(stream, arguments...); }
  BENCH_BOTH(BENCH_CALL)
#undef BENCH_CALL
};

struct rows_of {
  std::size_t rows, columns;
};

/// An operand with elements for each element of the rows, for each `Part` of these, for a column, for
/// a row. `shape` gives it numbers.
template <class T, class Shape = normal, std::size_t Part = 1>
struct tensor {
  using type = T;
  Shape shape = {1};
  std::size_t size(rows_of const& x) const { return x.rows * x.columns / Part; }
};
template <class T>
struct line {
  using type = T;
  normal shape = {1};
  std::size_t size(rows_of const& x) const { return x.columns; }
};
template <class T, class Shape = normal>
struct column {
  using type = T;
  Shape shape = {1};
  std::size_t size(rows_of const& x) const { return x.rows; }
};
/// Memory that a device's call needs and whose bits nobody compares.
struct scratch {
  using type = double;
  std::size_t (*doubles)(std::size_t, std::size_t);
  normal shape = {0};
  std::size_t size(rows_of const& x) const { return doubles(x.rows, x.columns); }
};

/// Times call(on, operands...) on `many` elements, after their bits are compared on 2^22 elements with
/// the host's. `bytes` are those of an element.
template <class Call, class... Kinds>
void measure_both(suite& all, std::string const& name, std::size_t columns, double bytes,
                  Call const& call, Kinds const&... kinds) {
  std::size_t const rows = many / columns, count = rows * columns;
  all.measure(
      {name, count, static_cast<std::size_t>(bytes * static_cast<double>(count)),
       sets_of(count * 2)},
      [&] {
        auto const operands = [&](std::size_t of_rows) {
          rows_of const x{of_rows, columns};
          return std::tuple{all.random<typename Kinds::type>(kinds.size(x), kinds.shape)...};
        };
        auto const launch = [&](auto const& of) {
          return [&](cudaStream_t stream, std::size_t i) {
            std::apply([&](auto const&... x) { call(device{stream}, x[i]...); }, of);
          };
        };
        auto const few =
            operands(std::max<std::size_t>(1, (std::min(many, std::size_t{1} << 22)) / columns));
        std::apply(
            [&](auto const&... x) {
              all.check(
                  launch(few), [&](std::size_t, auto... spans) { call(host{}, spans...); }, x...);
            },
            few);
        auto const large = operands(rows);
        return all.time(launch(large));
      });
}

}  // namespace bench
