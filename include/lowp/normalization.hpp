// SPDX-License-Identifier: Apache-2.0
// RMS norm and layer norm over rows, in float for all element types: the square of 256 is infinite
// in float16, and that of 1e20 in float.
#pragma once

#include <lowp/nn/normalization.hpp>

namespace lowp {

namespace detail {

/// Computes out = x / sqrt(mean of x^2 + eps) * weight in every row x: B. Zhang, R. Sennrich, "Root
/// Mean Square Layer Normalization", arXiv:1910.07467, and T5LayerNorm without its rounding to the
/// format of `weight`. If a row's sum of squares overflows or may have lost some, the row is
/// read again. A power of two then scales its elements.
///
/// Before it is rounded to the format of `out`, a result is within
///
///     2^-24 (n / 512 + 9) |result| + 2^-149 (1 + sqrt(n) |weight|)
///
/// of the exact one, for n columns. The second part matters in subnormal results, and in elements a
/// hundred binades below the row's largest. A row with NaN is NaN. In a row with infinity, infinity
/// becomes NaN and finite elements 0. With eps 0 a row of zeros is NaN.
///
/// `reciprocal_rms` gets the 1 / sqrt(mean of x^2 + eps) of the row, for elements without scale. It
/// is within 2^-24 (n / 512 + 9) of itself and 2^-150. Beyond the largest float it is infinite.
///
/// @param in              rows of `columns` elements, row after row, or strided_rows
/// @param weight          `columns` elements
/// @param out             as many rows; may be the storage of `in` as in softmax
/// @param columns         elements of a row, at least 1
/// @param eps             finite and not negative
/// @param reciprocal_rms  floats, one for each row; may be left out
/// @throws std::invalid_argument  sizes do not fit, eps is wrong, or ranges overlap in another way
template <class Executor>
struct rms_norm_operation : operation<Executor> {
  using calls =
      call<needs_row_input<names::in>, needs_input<names::weight>, needs_row_output<names::out>,
           needs_number<names::columns>, needs_number<names::eps>,
           may_have<1, names::reciprocal_rms, not_a_writable_range_of_floats>>;

  template <row_input In, input Weight, row_output Out, row_statistic... Rms>
    requires(sizeof...(Rms) <= 1)
  LOWP_HOST_FN void operator()(In&& in, Weight&& weight, Out&& out, std::size_t columns, float eps,
                               Rms&&... reciprocal_rms) const {
    run_rows(this->executor, "rms_norm", rms_norm_rows{{eps, static_cast<float>(columns)}},
             read_rows("in", in, columns), in_every_row("weight", weight, columns),
             write_rows("out", out, columns), for_each_row("reciprocal_rms", reciprocal_rms)...);
  }
};

/// Computes out = (x - m) / sqrt(mean of (x - m)^2 + eps) * weight + bias in every row x of mean m:
/// J. L. Ba, J. R. Kiros, G. E. Hinton, "Layer Normalization", 2016.
///
/// The mean comes first, then the sums of the differences from it and of their squares. The first
/// corrects the mean and the squares. This is the corrected two-pass algorithm (T. F. Chan, G. H.
/// Golub, R. J. LeVeque, "Algorithms for Computing the Sample Variance", The American Statistician
/// 37, 1983). Elements are scaled as for rms_norm.
///
/// Before it is rounded to the format of `out`, a result is within
///
///     2^-24 ((n / 256 + 16) (1 + |y|) |weight| + |bias|)
///       + 2^-45 (n / 256 + 9)^2 |weight| largest / root + 2^-150
///
/// of the exact one. n is columns, and root is sqrt(variance + eps). largest is the row's greatest
/// magnitude, and y is the factor of the weight. The second part matters if elements differ by less
/// than about 2^-20 of their mean. It is the whole error in a row of equal elements, whose result
/// is the bias. NaN, and zeros with eps 0, give the results of rms_norm. Infinity makes a row NaN.
///
/// `mean` gets the m and `reciprocal_deviation` the 1 / root of a row, for elements without scale.
/// d is the row's standard deviation, and c = 2^-24 (n / 256 + 12). The mean is within
///
///     2^-24 |m| + c d + c^2 largest + 2^-149 (1 + sqrt(eps))
///
/// of m. 1 / root is within c (1 + (c largest / root)^2) of itself, if that is below 1/2. 2^-150 is
/// added if it is subnormal.
///
/// @param in, out, columns, eps       as for rms_norm
/// @param weight, bias                `columns` elements each
/// @param mean, reciprocal_deviation  floats, one for each row; both may be left out
/// @throws std::invalid_argument  as for rms_norm
template <class Executor>
struct layer_norm_operation : operation<Executor> {
  using calls =
      call<needs_row_input<names::in>, needs_input<names::weight>, needs_input<names::bias>,
           needs_row_output<names::out>, needs_number<names::columns>, needs_number<names::eps>,
           may_have<2, names::mean_or_reciprocal_deviation, not_a_writable_range_of_floats>>;

  template <row_input In, input Weight, input Bias, row_output Out>
  LOWP_HOST_FN void operator()(In&& in, Weight&& weight, Bias&& bias, Out&& out,
                               std::size_t columns, float eps) const {
    with_statistics(in, weight, bias, out, columns, eps);
  }
  template <row_input In, input Weight, input Bias, row_output Out, row_statistic Mean,
            row_statistic Deviation>
  LOWP_HOST_FN void operator()(In&& in, Weight&& weight, Bias&& bias, Out&& out,
                               std::size_t columns, float eps, Mean&& mean,
                               Deviation&& reciprocal_deviation) const {
    with_statistics(in, weight, bias, out, columns, eps, for_each_row("mean", mean),
                    for_each_row("reciprocal_deviation", reciprocal_deviation));
  }

 private:
  LOWP_HOST_FN void with_statistics(auto& in, auto& weight, auto& bias, auto& out,
                                    std::size_t columns, float eps,
                                    auto const&... statistic) const {
    run_rows(this->executor, "layer_norm", layer_norm_rows{{eps, static_cast<float>(columns)}},
             read_rows("in", in, columns), in_every_row("weight", weight, columns),
             in_every_row("bias", bias, columns), write_rows("out", out, columns), statistic...);
  }
};

}  // namespace detail

inline constexpr detail::callable<detail::rms_norm_operation<simd::this_thread>> rms_norm{};
inline constexpr detail::callable<detail::layer_norm_operation<simd::this_thread>> layer_norm{};

}  // namespace lowp
