// SPDX-License-Identifier: Apache-2.0
// Adafactor (N. Shazeer, M. Stern, "Adafactor: adaptive learning rates with sublinear memory cost",
// arXiv:1804.04235): a second moment of one float for each row and each column of a matrix.
#pragma once

#include <lowp/nn/rows.hpp>
#include <lowp/train/optimizers.hpp>

namespace lowp {

namespace detail::inline LOWP_UNIT {

LOWP_EXACT_BEGIN
LOWP_OPAQUE sgd step_along(auto const& a, double norm_p, double norm_u, std::size_t elements,
                           std::uint64_t step) {
  double const root = __builtin_sqrt(static_cast<double>(elements));
  auto const larger = [](double one, double other) { return one < other ? other : one; };
  double const most = 1 / __builtin_sqrt(static_cast<double>(step)),
               rho = most < a.lr ? most : a.lr;
  double const rate = rho * larger(a.eps2, norm_p / root) / larger(1.0, norm_u / root / a.d);
  return {.lr = rate, .weight_decay = is_zero(rate) ? 0 : a.lr * a.weight_decay / rate};
}
LOWP_EXACT_END

}  // namespace detail::inline LOWP_UNIT

/// The hyper-parameters of torch.optim.Adafactor, with its defaults and meaning. PyTorch's eps1 of
/// None is the epsilon of the parameter's type; here it is that of float.
struct adafactor {
  double lr = 1e-2, beta2_decay = -.8, eps1 = 0x1p-23, eps2 = 1e-3, d = 1, weight_decay = 0;

  /// Returns the step along the direction u that adafactor_direction has computed:
  ///
  ///     update(p, u, optimizer.along(norm(p), norm(u), p.size(), step), step)
  ///
  /// `update` refuses it if a rate is not finite as a float, as after an infinite norm_p. An
  /// infinite norm_u gives no step at all, decay included.
  ///
  /// @param norm_p, norm_u  Euclidean norms of all elements, of p before this step
  /// @param elements        of p, and of u
  [[nodiscard]] sgd along(double norm_p, double norm_u, std::size_t elements,
                          std::uint64_t step) const {
    detail::default_environment const environment;
    return detail::step_along(*this, norm_p, norm_u, elements, step);
  }
};

namespace detail {

LOWP_EXACT_BEGIN

struct adafactor_rates {
  float columns, share, rest, share_of_row, eps1;
};
inline namespace LOWP_UNIT {
LOWP_OPAQUE inline adafactor_rates rates_of(adafactor const& optimizer, std::uint64_t step,
                                            std::size_t rows, std::size_t columns) {
  double const share = __builtin_pow(static_cast<double>(step), optimizer.beta2_decay);
  return {.columns = static_cast<float>(columns),
          .share = narrowed(share),
          .rest = narrowed(1 - share),
          .share_of_row = narrowed(share / static_cast<double>(rows)),
          .eps1 = narrowed(optimizer.eps1)};
}
}  // namespace LOWP_UNIT

/// Second moments of rows and columns, and g over the root of their product. Columns come first.
struct adafactor_rows {
  using folds = std::tuple<fold::both<fold::sum, fold::sum>>;
  static constexpr bool uses_scores = true;

  adafactor optimizer;
  std::uint64_t step;
  float const* row_var;  ///< null: a vector, whose only row has no factor
  adafactor_rates rates;

  [[nodiscard]] LOWP_HOST_FN error_text check(char const*, row_extent const& in) const {
    if (row_var == nullptr && in.rows > 1)
      return joined_text({"adafactor_direction: g has ", in.rows, " rows, and no row_var"});
    return check_hyper_parameters("adafactor", step,
                                  {{"lr", optimizer.lr},
                                   {"-beta2_decay", -optimizer.beta2_decay},
                                   {"eps1", optimizer.eps1},
                                   {"eps2", optimizer.eps2},
                                   {"d", optimizer.d, above_zero},
                                   {"weight_decay", optimizer.weight_decay}},
                                  "adafactor_direction");
  }

  template <class F>
  struct state {
    bool is_first;
    F row_var, factor;
  };

  template <class F>
  LOWP_FN void start(state<F>& s, std::size_t row) const {
    s.is_first = row == 0;
    s.row_var = lanes::broadcast<F>(row_var == nullptr ? 0 : row_var[row]);
  }
  template <int K, class F>
  LOWP_FN void add_to(fold::number<K>, F& sum, state<F> const& s, F const& g,
                      F const& column_var) const {
    if (s.is_first) sum = lanes::mul(lanes::broadcast<F>(rates.rest), column_var);
    sum = lanes::fma(lanes::mul(lanes::broadcast<F>(rates.share_of_row), g), g, sum);
  }
  template <class F>
  LOWP_FN fold::pair<F> value(fold::number<0>, state<F> const&, F const& g,
                              F const& column_var) const {
    return {lanes::mul(g, g), column_var};
  }
  LOWP_FN auto term(fold::number<0>, auto const& value) const { return value; }
  template <class F>
  LOWP_FN void take_total(fold::number<0>, state<F>& s, fold::pair<F> const& sums) const {
    F const n = lanes::broadcast<F>(rates.columns);
    F const square = lanes::div(sums.first, n);  // the mean
    s.row_var = lanes::fma(lanes::broadcast<F>(rates.share), square,
                           lanes::mul(lanes::broadcast<F>(rates.rest), s.row_var));
    F const mean = larger_or_nan(lanes::div(sums.second, n), lanes::broadcast<F>(rates.eps1));
    s.factor = row_var == nullptr ? lanes::broadcast<F>(1) : lanes::div(s.row_var, mean);
  }
  LOWP_FN auto statistic(fold::number<0>, auto const& s) const { return s.row_var; }
  template <class F>
  LOWP_FN F result(state<F> const& s, F const& g, F const& column_var) const {
    // Compares roots, because the square of eps1 may vanish.
    F const root = lanes::sqrt(lanes::mul(s.factor, column_var));
    return lanes::div(g, larger_or_nan(root, lanes::broadcast<F>(rates.eps1)));
  }

 private:
  template <class F>
  LOWP_FN static F larger_or_nan(F const& x, F const& number) {
    return lanes::negative(lanes::smaller_or_nan(lanes::negative(x), lanes::negative(number)));
  }
};

LOWP_EXACT_END

template <class T>
using not_the_optimizer_adafactor = fit<std::same_as<std::remove_cvref_t<T>, adafactor>>;
template <class T>
using not_an_integer_that_counts_from_1 = fit<std::integral<std::remove_cvref_t<T>>>;
// The calls differ in the fourth argument: u of a matrix, or the columns of a vector.
template <class T>
inline constexpr bool is_number = std::is_arithmetic_v<std::remove_cvref_t<T>>;
template <class T>
using not_a_lasting_writable_range_nor_strided_rows = fit<row_output<T>, is_number<T>>;
template <class T>
using not_a_number_of_columns = fit<is_number<T>, !is_number<T>>;
struct there_are_no_moments_row_var_and_column_var_of_floats;
template <class... Before>
using call_of_adafactor = call<first<needs_row_input<names::g>, Before...>,
                               needs<names::optimizer, not_the_optimizer_adafactor>,
                               needs<names::step, not_an_integer_that_counts_from_1>>;

/// Computes Adafactor's direction u from gradients g, and its second moments: R of a row and C of a
/// column. include/lowp/README.md has each operation: "Steps". optimizer.along is the step. A
/// vector has no row_var: C is its whole second moment, and u is g / sqrt(max(C, eps1^2)).
///
/// A NaN makes its row and its column NaN. The bits depend neither on threads nor on the shape of a
/// launch. No sum of squares may exceed the range of float: an infinite R stays, u is 0 there, or
/// NaN if C is as large, and no report counts it. measure(row_var) finds it.
///
/// @param g           rows of `columns` gradients, row after row, or strided_rows
/// @param row_var     floats, one for each row; 0 before step 1
/// @param column_var  `columns` floats; 0 before step 1
/// @param u           as many rows; may be the storage of g if elements have equal size
/// @param step        counts from 1
/// @throws std::invalid_argument  sizes do not fit, ranges overlap in another way, step is 0, or a
///                                hyper-parameter is out of range; nothing is written
template <class Executor>
struct adafactor_direction_operation : operation<Executor> {
  using calls =
      any_of_calls<call_of_adafactor<needs_floats<names::row_var>, needs_floats<names::column_var>,
                                     needs<names::u, not_a_lasting_writable_range_nor_strided_rows>,
                                     needs_number<names::columns>>,
                   call_of_adafactor<needs_floats<names::column_var>, needs_row_output<names::u>,
                                     needs<names::columns, not_a_number_of_columns>>,
                   otherwise<there_are_no_moments_row_var_and_column_var_of_floats>>;

  LOWP_HOST_FN void operator()(row_input auto&& g, row_statistic auto&& row_var,
                               row_statistic auto&& column_var, row_output auto&& u,
                               std::size_t columns, adafactor const& optimizer,
                               std::integral auto step) const {
    run_adafactor(g, std::ranges::data(row_var), column_var, u, columns, optimizer,
                  static_cast<std::uint64_t>(step), for_each_row("row_var", row_var));
  }
  LOWP_HOST_FN void operator()(row_input auto&& g, row_statistic auto&& column_var,
                               row_output auto&& u, std::size_t columns, adafactor const& optimizer,
                               std::integral auto step) const {
    run_adafactor(g, nullptr, column_var, u, columns, optimizer, static_cast<std::uint64_t>(step));
  }

 private:
  LOWP_HOST_FN void run_adafactor(auto& g, float const* row_var, auto& column_var, auto& u,
                                  std::size_t columns, adafactor const& optimizer,
                                  std::uint64_t step, auto const&... row) const {
    auto const in = read_rows("g", g, columns);
    auto const out = write_rows("u", u, columns);
    auto const sums = for_each_column("column_var", column_var);
    default_environment const environment;
    adafactor_rows const rows{optimizer, step, row_var,
                              rates_of(optimizer, step, in.range.rows, columns)};
    error_text const wrong =
        check_call_over_rows(this->executor, "adafactor_direction", rows, in, row..., sums, out);
    if (!wrong.empty()) return this->executor.refuse_if(wrong);
    if (in.range.rows == 0) return;
    // Each column is read before it is written.
    auto const factors = in_every_fold("column_var", column_var, columns);
    sum_columns(this->executor, rows, in, factors, sums);
    run_checked_rows(this->executor, rows, in, factors, out, row...);
  }
};

}  // namespace detail

}  // namespace lowp

LOWP_ON_THIS_THREAD(adafactor_direction)
