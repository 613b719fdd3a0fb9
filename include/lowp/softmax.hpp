// SPDX-License-Identifier: Apache-2.0
// Softmax over the rows of a matrix, in float for all element types: finite for all scores that a
// format can hold, however far apart.
#pragma once

#include <lowp/nn/softmax.hpp>

namespace lowp {

namespace detail {

/// Computes out = e^(x - max) / sum of e^(x - max) over each row, in float, rounded once to nearest
/// even. The bits are the same on every backend, and for every split into rows.
///
/// Before that rounding, the relative error of a probability with n columns is at most
///
///     (max - x + ln n + n / 256 + 14) * 2^-24
///
/// and, if it is subnormal, 2^-148 more.
///
/// A score of -inf has probability 0. A row of -inf alone, which a mask may leave, gives zeros. A
/// row with a NaN or +inf gives NaN everywhere, as the quotient does.
///
/// @param in       rows * columns elements, row after row, or strided_rows
/// @param out      as many rows; may be the storage of `in` if elements and strides have equal size
/// @param columns  elements of a row, at least 1
/// @throws std::invalid_argument  sizes differ or are not a multiple of columns, or the ranges
///                                overlap in another way
template <class Executor>
struct softmax_operation : operation<Executor> {
  using calls =
      call<needs_row_input<names::in>, needs_row_output<names::out>, needs_number<names::columns>>;

  template <row_input In, row_output Out>
  LOWP_HOST_FN void operator()(In&& in, Out&& out, std::size_t columns) const {
    run_rows(this->executor, "softmax", softmax_rows<plain_score>{}, read_rows("in", in, columns),
             write_rows("out", out, columns));
  }
};

/// Computes out = x - max - ln(sum of e^(x - max)) over each row, otherwise as softmax.
/// A score of -inf gives -inf. Before the rounding to `out`, the absolute error is at most
///
///     (2 (max - x) + 4 ln n + n / 256 + 12) * 2^-24
template <class Executor>
struct log_softmax_operation : operation<Executor> {
  using calls =
      call<needs_row_input<names::in>, needs_row_output<names::out>, needs_number<names::columns>>;

  template <row_input In, row_output Out>
  LOWP_HOST_FN void operator()(In&& in, Out&& out, std::size_t columns) const {
    run_rows(this->executor, "log_softmax", softmax_rows<plain_score, true>{},
             read_rows("in", in, columns), write_rows("out", out, columns));
  }
};

}  // namespace detail

inline constexpr detail::callable<detail::softmax_operation<simd::this_thread>> softmax{};
inline constexpr detail::callable<detail::log_softmax_operation<simd::this_thread>> log_softmax{};

}  // namespace lowp
