// SPDX-License-Identifier: Apache-2.0
// Gradients of a whole model: unscale, measure and clip for a list of named tensors.
#pragma once

#include <lowp/gradients.hpp>

namespace lowp {

namespace detail {

template <class T>
using not_a_list_of_named_outputs = fit<output_list<std::remove_cvref_t<T>>>;

/// Multiplies all gradients of a list by clip_factor(norm, max_norm), as
/// torch.nn.utils.clip_grad_norm_. Returns the report from before. The norm is that of all tensors.
///
/// Nothing is written if the factor is 1 or the norm is not finite; PyTorch makes such gradients
/// NaN or 0. See report.nonfinite, as with error_if_nonfinite of PyTorch.
///
/// @param max_norm  at least 0; infinite only measures
/// @param rounding  a stochastic mode is of_tensor(i) for tensor number i
/// @throws std::invalid_argument  max_norm is negative or NaN, or a tensor is listed twice
template <class Executor>
struct clip_operation : operation<Executor> {
  using calls =
      call<needs<names::gradients, not_a_list_of_named_outputs>, needs_number<names::max_norm>,
           may_have<1, names::rounding, not_a_rounding_mode_of_ranges>>;

  template <output_list L, span_rounding R = nearest_even>
    requires returns_values<Executor>
  LOWP_HOST_FN gradient_report operator()(L const& gradients, double max_norm,
                                          R rounding = {}) const {
    return clip_on(this->executor, gradients, max_norm, rounding);
  }
};

}  // namespace detail

inline constexpr detail::callable<detail::clip_operation<simd::this_thread>> clip{};

}  // namespace lowp
