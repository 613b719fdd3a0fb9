// SPDX-License-Identifier: Apache-2.0
// T5's clamp of hidden states that have overflowed.
#pragma once

#include <lowp/nn/clamp_overflow.hpp>

namespace lowp {

namespace detail {

/// Clamps, if any element is infinite, every element of greater magnitude than clamp_limit to that limit with
/// its sign, infinities and finite ones; else nothing changes. NaN stays NaN. Returns the counts.
///
/// T5Block does this to hidden states in float16 after each of its layers (huggingface/transformers,
/// models/t5/modeling_t5.py): the limit is the largest finite value less 1000, which leaves the next layer's
/// residual some space. It hides an overflow and does not undo it: the report counts what is clamped.
///
/// @param x       n elements, changed in place
/// @param report  in place of the returned one; must be empty, because the clamp reads it
template <class Executor>
struct clamp_overflow_operation : operation<Executor> {
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

inline constexpr detail::clamp_overflow_operation<simd::this_thread> clamp_overflow{};

}  // namespace lowp
