// SPDX-License-Identifier: Apache-2.0
// The effect of a format on a tensor, found without storing the tensor.
#pragma once

#include <lowp/measure/census/census_groups.hpp>
#include <lowp/measure/census/census_text.hpp>
#include <lowp/measure/gradients.hpp>

namespace lowp {

namespace detail {

/// Runs `census` on `executor`. Returns the error text, empty if all is right.
template <class Executor, class In, census_target To>
[[nodiscard]] LOWP_HOST_FN error_text census_on(Executor const& executor, In&& in,
                                                census_report<To>& report) {
  must_be_input<In>();
  extent const from("in", in);
  error_text const wrong = out_of_reach(executor, "census", {from});
  if (!wrong.empty()) return wrong;
  executor(make_measuring{}, from.size, &report,
           simd::operand<element_of<In>, simd::access::read>{std::ranges::data(in)});
  return {};
}

}  // namespace detail

/// What would become of the elements of `in`, were they rounded to nearest even to `To`: one pass,
/// exact counts. Overflow is decided after rounding, so that in float16 65519 does not overflow and
/// 65520 does, whatever would be stored for it: also where To has no infinity or saturates.
///
///     range_census const all = census<float16>(weights);
///     if (all.overflow != 0) std::puts(text(all).c_str());
///
/// @return     merges with that of other ranges by +=. The bits of its sum do not depend on how a range is
///             cut into shards where all but the last are multiples of 2^14 elements
/// @tparam To  float or a narrow type, but float8_e8m0fnu, which has no zero
/// @param in   n elements of float or a narrow type
template <census_target To, input In>
[[nodiscard]] LOWP_HOST_FN range_census census(In&& in) {
  census_report<To> report;
  detail::refuse_if(detail::census_on(detail::blocks_on_this_thread{}, in, report));
  return report;
}

}  // namespace lowp
