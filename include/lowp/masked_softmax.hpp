// SPDX-License-Identifier: Apache-2.0
// scale_mask_softmax: scale, mask and softmax of attention scores in one pass over memory.
#pragma once

#include <lowp/nn/masked_softmax.hpp>

namespace lowp {

namespace detail {

template <class T>
using not_a_score_mask = fit<score_mask<T>>;

/// Computes softmax of scale * in without the masked scores, otherwise as softmax. A row that is
/// masked whole gives zeros.
///
/// A masked score may be anything, NaN included. An additive mask joins in the fused multiply-add
/// that scales. It hides with -inf, or with a number so low that nothing is left. The product with
/// `scale` is exact for a power of two. Otherwise its rounding to float adds at most
/// (|scale * x| + |scale * max|) * 2^-24 to the relative error. Beyond the range of float it is
/// infinite: see softmax.
///
/// @param in       rows * columns scores, row after row, or strided_rows
/// @param mask     see attention_mask and causal_mask
/// @param out      as many rows; may be the storage of `in` as in softmax
/// @param columns  elements of a row, at least 1
/// @param scale    finite and not 0
/// @throws std::invalid_argument  sizes do not fit, the scale is wrong, or ranges overlap
template <class Executor>
struct scale_mask_softmax_operation : operation<Executor> {
  using calls =
      call<needs_row_input<names::in>, needs<names::mask, not_a_score_mask>,
           needs_row_output<names::out>, needs_number<names::columns>, needs_number<names::scale>>;

  template <row_input In, score_mask Mask, row_output Out>
  LOWP_HOST_FN void operator()(In&& in, Mask&& mask, Out&& out, std::size_t columns,
                               float scale) const {
    constexpr char const* name = "scale_mask_softmax";
    auto const from = read_rows("in", in, columns);
    auto const to = write_rows("out", out, columns);
    if constexpr (std::same_as<std::remove_cvref_t<Mask>, causal_mask>)
      run_rows(this->executor, name, causal_rows{{{scale}}, mask.queries}, from, to);
    else
      run_rows(this->executor, name, scores_for(as_mask(mask), scale), from,
               read_mask(as_mask(mask), from.range), to);
  }
};

}  // namespace detail

inline constexpr detail::callable<detail::scale_mask_softmax_operation<simd::this_thread>>
    scale_mask_softmax{};

}  // namespace lowp
