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

// clang-format off: it never comes to rest
#define BENCH_BOTH(X)                                                                   \
  X(cast) X(update) X(softmax) X(log_softmax) X(scale_mask_softmax) X(softmax_backward) \
  X(rms_norm) X(layer_norm) X(add_rms_norm) X(cross_entropy) X(gelu) X(gelu_tanh)       \
  X(gated_silu) X(gelu_backward)
// clang-format on

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
  std::span<double> scratch;
#define BENCH_CALL(name) \
  void name(auto... arguments) const { lowp::cuda::name(stream, arguments...); }
  BENCH_BOTH(BENCH_CALL)
#undef BENCH_CALL
};

struct rows_of {
  std::size_t rows, columns;
};

/// An operand with an element for each `Part` elements of the rows. `shape` gives it numbers.
/// A `line` has one for each column, a `column` one for each row.
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
/// Times call(on, operands...) on `many` elements, after 2^22 elements had the host's bits. `bytes`
/// are those of an element; `doubles` tells how much scratch a device needs.
template <class Call, class... Kinds>
void measure_both(suite& all, std::string const& name, std::size_t columns, double bytes,
                  std::size_t (*doubles)(std::size_t, std::size_t), Call const& call,
                  Kinds const&... kinds) {
  // fill() makes equal operands of multiples of 4.
  auto const rows_in = [&](std::size_t elements) { return elements / columns / 4 * 4; };
  std::size_t const rows = rows_in(many), few = rows_in(std::min(many, std::size_t{1} << 22)),
                    count = rows * columns;
  auto const bytes_of_all = static_cast<std::size_t>(bytes * static_cast<double>(count));
  all.measure({name, count, bytes_of_all, sets_of(count * 2)}, [&] {
    auto const memory = all.output<double>(doubles(rows, columns));
    // then(launch, operands...)
    auto const with_operands = [&](std::size_t of_rows, auto const& then) {
      rows_of const x{of_rows, columns};
      std::tuple const operands{all.random<typename Kinds::type>(kinds.size(x), kinds.shape)...};
      return std::apply(
          [&](auto const&... each) {
            return then([&](cudaStream_t stream,
                            std::size_t i) { call(device{stream, memory[i]}, each[i]...); },
                        each...);
          },
          operands);
    };
    with_operands(few, [&](auto const& launch, auto const&... each) {
      all.check(launch, [&](std::size_t, auto... spans) { call(host{}, spans...); }, each...);
    });
    return with_operands(rows,
                         [&](auto const& launch, auto const&...) { return all.time(launch); });
  });
}
template <class Call, class... Kinds>
void measure_both(suite& all, std::string const& name, std::size_t columns, double bytes,
                  Call const& call, Kinds const&... kinds) {
  constexpr auto none = [](std::size_t, std::size_t) { return std::size_t{0}; };
  measure_both(all, name, columns, bytes, +none, call, kinds...);
}

}  // namespace bench
