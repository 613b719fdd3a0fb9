// SPDX-License-Identifier: Apache-2.0
// The sum over the rows of a matrix: the derivative of a bias.
#pragma once

#include <lowp/nn/rows.hpp>

namespace lowp::detail {

LOWP_EXACT_BEGIN

struct row_sum {
  template <class F>
  struct state {};

  LOWP_FN void start(auto const&, std::size_t) const {}
  template <class F>
  LOWP_FN void add_to(fold::number<0>, F& sum, state<F> const&, F const& x) const {
    sum = lanes::add(sum, x);
  }
};

LOWP_EXACT_END

/// Adds up rows: dbias[i] = sum of dy[r * columns + i] over all rows r. 16 rows add up in float, 16
/// such groups in double, and those in double, each in order. It is within
///
///     (16 * 2^-24 + rows * 2^-52) times the sum of |dy|, and 2^-24 |dbias|
///
/// of the exact one. No group leaves the range of float if |dy| is below 2^123. The bits depend
/// neither on threads nor on the shape of a launch. For a bias in 16 bits, fused_add adds these
/// floats to its derivative in any rounding.
///
/// @param dy     rows of `columns` elements, row after row, or strided_rows
/// @param dbias  `columns` floats, which are overwritten; added_to{dbias} adds the sum to them in
///               double, rounded once
/// @throws std::invalid_argument  sizes do not fit, or ranges overlap
template <class Executor>
struct add_rows_operation : operation<Executor> {
  using calls =
      call<needs_row_input<names::dy>, needs_sums<names::dbias>, needs_number<names::columns>>;

  template <row_input Dy, row_sums Dbias>
  LOWP_HOST_FN void operator()(Dy&& dy, Dbias&& dbias, std::size_t columns) const {
    run_rows(this->executor, "add_rows", row_sum{}, read_rows("dy", dy, columns),
             for_each_column("dbias", dbias));
  }
};

}  // namespace lowp::detail

namespace lowp {
inline constexpr detail::callable<detail::add_rows_operation<simd::this_thread>> add_rows{};
}  // namespace lowp
