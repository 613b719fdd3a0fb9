// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/ops/lists.hpp>
#include <lowp/ops/number.hpp>

namespace lowp::detail {

/// p = fma(alpha, u, p); the update is alpha * u.
struct scaled_addition {
  static constexpr char const* argument = "alpha";
  static constexpr number_range range = any_number;

  float alpha;

  template <class F>
  LOWP_FN F operator()(F& p, F const& u) const {
    F const a = lanes::broadcast<F>(alpha);
    p = lanes::fma(a, u, p);
    return lanes::mul(a, u);
  }
};

/// Adds: p[i] = round(fma(alpha, u[i], p[i])). One fused multiply-add in float, one rounding to the
/// format of p. A NaN result is the canonical one.
///
/// @param alpha    finite, also as a float
/// @param outcome  an optional overflow policy, then an optional update_report or update_amax, to
///                 which the call adds; its gradient is u
/// @param list     in place of p and u: fused_add_tensor{p, u} of each tensor
template <class Executor>
struct fused_add_operation : operation<Executor> {
  using calls =
      any_of_calls<call<needs_storage<names::p>, needs<names::alpha, not_a_number_to_scale_by>,
                        needs_readable<names::u>, may_have_outcome>,
                   call<needs<names::list, not_a_list_of_tensors>,
                        needs<names::alpha, not_a_number_to_scale_by>, may_have_outcome>>;

  template <storage P, number_argument Alpha, readable U, class R = nearest_even, class... Outcome>
    requires outcome<range_rounding<std::remove_cvref_t<R>>, R, Outcome...> &&
             (!reports_moments<R, Outcome...>)
  LOWP_HOST_FN void operator()(P&& p, Alpha alpha, U&& u, R&& rounding = {},
                               Outcome&&... outcome) const {
    run(this->executor, "fused_add", make_of<scaled_addition>(alpha),
        report_among(rounding, outcome...),
        read_write("p", p, rounding_among(rounding),
                   policy_among<rounded_element<P>>(rounding, outcome...)),
        read("u", u));
  }

  template <call_list L, class Alpha, class R = nearest_even, class... Outcome>
    requires returns_values<Executor> && takes_each<fused_add_operation, L, Alpha, R, Outcome...>
  LOWP_HOST_FN void operator()(L const& list, Alpha alpha, R&& rounding = {},
                               Outcome&&... outcome) const {
    call_list_on<detail::fused_add_operation>(this->executor, list, alpha, as_shared(rounding),
                                              outcome...);
  }
};

}  // namespace lowp::detail

LOWP_ON_THIS_THREAD(fused_add)

namespace lowp::simd {
#define LOWP_COMPILED_ADD(part, P, U, R)                                                           \
  LOWP_COMPILED_CALL(                                                                              \
      part, compiled_elements<decltype(detail::make_of<detail::scaled_addition>(0.0f)), no_report, \
                              compiled_slot<P, R>, operand<U, access::read>>)
LOWP_COMPILED_FUSED_ADDS(LOWP_COMPILED_ADD)
#undef LOWP_COMPILED_ADD
}  // namespace lowp::simd
