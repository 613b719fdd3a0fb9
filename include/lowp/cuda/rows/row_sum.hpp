// SPDX-License-Identifier: Apache-2.0
// The sums that precede a row's folds: see simd/rows/row_sum.hpp. A thread adds the chunks that it
// loads, stores them, and hands on what it has stored.
#pragma once

#include <lowp/cuda/rows/row_operand.hpp>

namespace lowp::cuda {

struct no_row_sum {
  static constexpr int operands = 0, bytes_read = 0, sums = 0;
  static constexpr bool is_random = false;
};

template <class Function, class X, class Addend>
struct row_sum {
  static constexpr int operands = 2, bytes_read = Addend::bytes_read, sums = 0;
  static constexpr bool is_random = X::is_random;

  Function function;
  row_operand<X> x;
  row_operand<Addend> addend;
};

/// A thread's part of the sums of a row.
template <class Sum, class Hardware, int Chunks>
struct row_adder {
  LOWP_FN row_adder(Sum const&, std::uint64_t, std::uint32_t) {}
  template <int Width>
  LOWP_FN void load(auto const&...) {}
  LOWP_FN void add(auto const&...) {}
};
template <class Function, class X, class Addend, class Hardware, int Chunks>
class row_adder<row_sum<Function, X, Addend>, Hardware, Chunks> {
 public:
  LOWP_FN row_adder(row_sum<Function, X, Addend> const& sum, std::uint64_t r, std::uint32_t columns)
      : function_(sum.function), x_(sum.x, r), addend_(sum.addend, r), first_(r * columns) {}

  template <int Width, class Thread>
  LOWP_FN void load(int i, Thread const& thread, std::uint32_t column, int count) {
    addend_.template load<Width>(i, thread, column, count);
  }
  /// Changes x, a chunk, to its sums as they are stored.
  template <class Thread>
  LOWP_FN void add(int i, Thread const& thread, std::uint32_t column, int count, int width,
                   float (&x)[chunk_size]) {
    float addend[chunk_size];
    addend_.decode(thread, i, addend);
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < chunk_size; ++k) function_(x[k], addend[k]);
    x_.encode(thread, x, first_ + column, count);
    with_width(width, [&](auto w) { x_.template store<w>(thread, column, count); });
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < chunk_size; ++k) x[k] = x_.written(k);
  }

 private:
  Function const& function_;
  row_accessor<X, Hardware, 1> x_;
  row_accessor<Addend, Hardware, Chunks> addend_;
  std::uint64_t first_;
};

}  // namespace lowp::cuda
