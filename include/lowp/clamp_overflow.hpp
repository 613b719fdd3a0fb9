// SPDX-License-Identifier: Apache-2.0
// clamp_overflow: T5's clamp of hidden states that have overflowed.
#pragma once

#include <lowp/nn/clamp_overflow.hpp>

namespace lowp {

namespace detail {

template <class T>
inline constexpr bool is_clamp_report = false;
template <class T>
inline constexpr bool is_clamp_report<clamp_report_of<T>&> = true;
template <class X>
inline constexpr bool may_be_clamped = false;
template <output X>
inline constexpr bool may_be_clamped<X> = clampable<element_of<X>>;

template <class T>
using not_a_clamp_report = fit<is_clamp_report<T>>;
template <class T>
using not_a_writable_range_of_a_format_with_infinity_such_as_float16 = fit<may_be_clamped<T>>;

/// Clamps x if any element is infinite: each magnitude above clamp_limit, finite or not, becomes
/// clamp_limit and keeps its sign. Otherwise nothing changes. NaN stays NaN. Returns the counts.
///
/// T5Block does this to float16 hidden states after each of its layers (huggingface/transformers,
/// models/t5/modeling_t5.py). The limit, the largest finite value less 1000, leaves room for the
/// next layer's residual. The clamp hides an overflow and does not undo it: the report counts it.
///
/// @param x       n elements, changed in place
/// @param report  replaces the returned one; must be empty, because the clamp reads it
template <class Executor>
struct clamp_overflow_operation : operation<Executor> {
  using calls =
      call<needs<names::x, not_a_writable_range_of_a_format_with_infinity_such_as_float16>,
           may_have<1, names::report, not_a_clamp_report>>;

  template <output X>
    requires clampable<element_of<X>> && (!returns_values<Executor>)
  LOWP_HOST_FN void operator()(X&& x, clamp_report_of<element_of<X>>& report) const {
    error_text const wrong = find_overflow_on(this->executor, x, report);
    if (wrong.empty()) clamp_found_on(this->executor, x, report);
    this->executor.refuse_if(wrong);
  }
  template <output X>
    requires clampable<element_of<X>> && returns_values<Executor>
  LOWP_HOST_FN clamp_report operator()(X&& x) const {
    clamp_report_of<element_of<X>> report;
    this->executor.refuse_if(find_overflow_on(this->executor, x, report));
    if (report.infinite != 0) clamp_found_on(this->executor, x, report);
    return report;
  }
};

}  // namespace detail

inline constexpr detail::callable<detail::clamp_overflow_operation<simd::this_thread>>
    clamp_overflow{};

}  // namespace lowp
