// SPDX-License-Identifier: Apache-2.0
// fused_add: a scaled addition in place, rounded once.
#pragma once

#include <lowp/ops/fused_add.hpp>
#include <lowp/ops/lists.hpp>

namespace lowp {

namespace detail {

/// Adds: p[i] = round(fma(alpha, u[i], p[i])). One fused multiply-add in float, one rounding to the
/// format of p. A NaN result is the canonical one.
///
/// @param p        n elements
/// @param alpha    finite
/// @param u        n elements; may be the storage of p if elements have equal size
/// @param outcome  an optional overflow policy, then an optional update_report or update_amax, to
///                 which the call adds; its gradient is u
/// @param list     in place of p and u: fused_add_tensor{p, u} of each tensor
/// @throws std::invalid_argument  `alpha` is infinite or NaN, sizes differ, or p and u overlap in
///                                another way
template <class Executor>
struct fused_add_operation : operation<Executor> {
  using calls =
      any_of_calls<call<needs_storage<names::p>, needs<names::alpha, not_a_number_to_scale_by>,
                        needs_readable<names::u>, may_have_outcome>,
                   call<needs<names::list, not_a_list_of_tensors>,
                        needs<names::alpha, not_a_number_to_scale_by>, may_have_outcome>>;

  template <storage P, number_argument Alpha, readable U, class R = nearest_even, class... Outcome>
    requires outcome<range_rounding<std::remove_cvref_t<R>>, R, Outcome...>
  LOWP_HOST_FN void operator()(P&& p, Alpha alpha, U&& u, R&& rounding = {},
                               Outcome&&... outcome) const {
    this->executor.refuse_if(fused_add_on(this->executor, p, make_scaled_addition{as_number(alpha)},
                                          u, rounding_among(rounding), rounding, outcome...));
  }

  template <call_list L, class Alpha, class R = nearest_even, class... Outcome>
    requires returns_values<Executor> && takes_each<fused_add_operation, L, Alpha, R, Outcome...>
  LOWP_HOST_FN void operator()(L const& list, Alpha alpha, R&& rounding = {},
                               Outcome&&... outcome) const {
    call_list_on<detail::fused_add_operation>(this->executor, list, alpha, rounding, outcome...);
  }
};

}  // namespace detail

inline constexpr detail::callable<detail::fused_add_operation<simd::this_thread>> fused_add{};

}  // namespace lowp
