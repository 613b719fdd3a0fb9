// SPDX-License-Identifier: Apache-2.0
// Softmax as models computed it that had 16 bits for every step: for comparison, and for reproducing
// those. softmax.hpp is more accurate and faster.
#pragma once

#include <lowp/nn/pb_relax.hpp>

namespace lowp {

namespace detail {

/// Computes softmax(alpha * in) by CogView's PB-Relax, softmax((x - max x) * alpha): M. Ding et al., "CogView:
/// Mastering Text-to-Image Generation via Transformers", arXiv:2105.13290, section 2.4. x is the scores divided
/// by alpha, so that they stay in the range of the format.
///
/// Each step is rounded to the format of `in`; the sum is float's. With alpha = 1 it is the softmax of a
/// machine that has only this format.
///
/// @param in       rows * columns elements: scores that were divided by alpha before they could overflow
/// @param out      as many; may be the storage of `in` if elements have equal size
/// @param columns  elements of a row, at least 1
/// @param alpha    finite and positive
/// @throws std::invalid_argument  as softmax, and for alpha
template <class Executor>
struct softmax_pb_relax_operation : operation<Executor> {
  template <input In, output Out>
  LOWP_HOST_FN void operator()(In&& in, Out&& out, std::size_t columns, float alpha) const {
    this->executor.refuse_if(softmax_pb_relax_on(this->executor, in, out, columns, alpha));
  }
};

}  // namespace detail

inline constexpr detail::softmax_pb_relax_operation<simd::this_thread> softmax_pb_relax{};

}  // namespace lowp
