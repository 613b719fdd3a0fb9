// SPDX-License-Identifier: Apache-2.0
// A residual sum with the norm behind it, in one pass over memory.
#pragma once

#include <lowp/nn/normalization.hpp>
#include <lowp/ops/fused_add.hpp>

namespace lowp::detail {

/// The sum that comes before a call over rows.
template <class X, class Addend>
struct row_addition {
  using make = decltype(make_of<scaled_addition>(1.0f));

  X x;
  Addend addend;

  template <class RowCall>
  LOWP_HOST_FN auto before(RowCall const& call) const {
    return simd::summed_row_call<RowCall, make, typename X::operand_type,
                                 typename Addend::operand_type>{
        call, make_of<scaled_addition>(1.0f), x, addend};
  }
};

/// Returns an argument of rows that a call changes, and then reads.
LOWP_HOST_FN auto change_rows(char const* name, auto& range, std::size_t columns) {
  auto role = row_argument<row_use::score, simd::access::read>(name, range, columns);
  role.range.is_written = true;
  return role;
}
/// Returns an argument of rows to add to x, before the folds.
template <class X, class R>
LOWP_HOST_FN auto add_rows_to(X& x, R const& rounding, char const* name, auto& range,
                              std::size_t columns) {
  auto const addend = read_rows(name, range, columns);
  auto const rows = as_rows(x, columns);
  using T = explicit_of<typename decltype(rows.elements)::value_type>;
  using sum = simd::row_operand<simd::operand<T, simd::access::read_write, R>>;
  return row_role<row_use::addend, row_addition<sum, decltype(addend.operand)>>{
      addend.range,
      {{{explicit_data(rows.elements.data()), rounding}, rows.stride}, addend.operand}};
}

template <class T>
using neither_a_writable_range_of_floats_nor_a_rounding_mode =
    fit<row_statistic<T> || span_rounding<std::remove_cvref_t<T>>>;

/// Adds, then normalizes: x = round(x + u), out = rms_norm of x. It reads and writes memory once.
/// The residual stream x and `out` have the bits of two calls:
///
///     fused_add(x, 1, u, rounding);
///     rms_norm(x, weight, out, columns, eps, reciprocal_rms);
///
/// Stochastic rounding draws for an element's place in rows without a stride. The gradient of x,
/// and of u, is that of rms_norm, added to dx, which reaches x beside it:
///
///     rms_norm_backward(x, weight, dy, reciprocal_rms, added_to{dx}, dweight, columns);
///
/// @param x         rows, which change
/// @param u         as many rows; `out` may be their storage, not that of x
/// @param rounding  that of x, a value of the host; `out` is rounded to nearest even
template <class Executor>
struct add_rms_norm_operation : operation<Executor> {
  using calls =
      call<needs_row_output<names::x>, needs_row_input<names::u>, needs_input<names::weight>,
           needs_row_output<names::out>, needs_number<names::columns>, needs_number<names::eps>,
           may_have<2, names::reciprocal_rms_or_rounding,
                    neither_a_writable_range_of_floats_nor_a_rounding_mode>>;

  template <row_output X, row_input U, input Weight, row_output Out, span_rounding R = nearest_even>
  LOWP_HOST_FN void operator()(X&& x, U&& u, Weight&& weight, Out&& out, std::size_t columns,
                               float_argument eps, R const& rounding = {}) const {
    with_statistics(x, u, weight, out, columns, eps.value, rounding);
  }
  template <row_output X, row_input U, input Weight, row_output Out, row_statistic Rms,
            span_rounding R = nearest_even>
  LOWP_HOST_FN void operator()(X&& x, U&& u, Weight&& weight, Out&& out, std::size_t columns,
                               float_argument eps, Rms&& reciprocal_rms,
                               R const& rounding = {}) const {
    with_statistics(x, u, weight, out, columns, eps.value, rounding,
                    for_each_row("reciprocal_rms", reciprocal_rms));
  }

 private:
  LOWP_HOST_FN void with_statistics(auto& x, auto& u, auto& weight, auto& out, std::size_t columns,
                                    float eps, auto const& rounding,
                                    auto const&... statistic) const {
    run_rows(this->executor, "add_rms_norm", rms_norm_rows{{eps, convert<float>(columns)}},
             change_rows("x", x, columns), add_rows_to(x, rounding, "u", u, columns),
             in_every_row("weight", weight, columns), write_rows("out", out, columns),
             statistic...);
  }
};

/// Adds, then normalizes: x = round(x + u), out = layer_norm of x, otherwise as add_rms_norm.
template <class Executor>
struct add_layer_norm_operation : operation<Executor> {
  using calls =
      call<needs_row_output<names::x>, needs_row_input<names::u>, needs_input<names::weight>,
           needs_input<names::bias>, needs_row_output<names::out>, needs_number<names::columns>,
           needs_number<names::eps>,
           may_have<3, names::mean_reciprocal_deviation_or_rounding,
                    neither_a_writable_range_of_floats_nor_a_rounding_mode>>;

  template <row_output X, row_input U, input Weight, input Bias, row_output Out,
            span_rounding R = nearest_even>
  LOWP_HOST_FN void operator()(X&& x, U&& u, Weight&& weight, Bias&& bias, Out&& out,
                               std::size_t columns, float_argument eps,
                               R const& rounding = {}) const {
    with_statistics(x, u, weight, bias, out, columns, eps.value, rounding);
  }
  template <row_output X, row_input U, input Weight, input Bias, row_output Out, row_statistic Mean,
            row_statistic Deviation, span_rounding R = nearest_even>
  LOWP_HOST_FN void operator()(X&& x, U&& u, Weight&& weight, Bias&& bias, Out&& out,
                               std::size_t columns, float_argument eps, Mean&& mean,
                               Deviation&& reciprocal_deviation, R const& rounding = {}) const {
    with_statistics(x, u, weight, bias, out, columns, eps.value, rounding,
                    for_each_row("mean", mean),
                    for_each_row("reciprocal_deviation", reciprocal_deviation));
  }

 private:
  LOWP_HOST_FN void with_statistics(auto& x, auto& u, auto& weight, auto& bias, auto& out,
                                    std::size_t columns, float eps, auto const& rounding,
                                    auto const&... statistic) const {
    run_rows(this->executor, "add_layer_norm", layer_norm_rows{{eps, convert<float>(columns)}},
             change_rows("x", x, columns), add_rows_to(x, rounding, "u", u, columns),
             in_every_row("weight", weight, columns), in_every_row("bias", bias, columns),
             write_rows("out", out, columns), statistic...);
  }
};

}  // namespace lowp::detail

LOWP_ON_THIS_THREAD(add_rms_norm)
LOWP_ON_THIS_THREAD(add_layer_norm)
