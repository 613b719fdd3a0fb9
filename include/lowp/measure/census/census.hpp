// SPDX-License-Identifier: Apache-2.0
// The effects that a format would have on a tensor, without storing it.
#pragma once

#include <lowp/base/text.hpp>
#include <lowp/measure/census/census_groups.hpp>
#include <lowp/measure/census/census_of_thread.hpp>
#include <lowp/measure/measuring.hpp>

namespace lowp::detail {

template <class T>
using not_a_census_report = fit<report_of_type<T, range_census>>;

template <class Executor>
struct census_operation : operation<Executor> {
  using calls = call<needs_input<names::in>, needs<names::report, not_a_census_report>>;

  template <any_input In, census_target To>
  LOWP_HOST_FN void operator()(In&& in, census_report<To>& report) const {
    run(by_blocks(this->executor), "census", make<measuring>{}, &report, read("in", in));
  }
};

/// Counts what rounding to nearest even to `To` would do to `in`: exact counts in one pass.
///
///     range_census const all = census<float16>(weights);
///     if (all.overflow != 0) std::puts(text(all).c_str());
///
/// Overflow is decided after rounding, also if To saturates or has no infinity. In float16, 65519
/// does not overflow and 65520 does.
///
/// @return     merges with the result of other ranges by +=
/// @tparam To  float or a narrow type, but not float8_e8m0fnu, which has no zero
/// @param in   n elements of float or a narrow type
template <class Executor, census_target To>
struct census_to : operation<Executor> {
  using calls = call<needs_input<names::in>>;

  [[nodiscard]] LOWP_HOST_FN range_census operator()(any_input auto&& in) const {
    census_report<To> report;
    census_operation<Executor>{this->executor}(in, report);
    return report;
  }
};

}  // namespace lowp::detail

namespace lowp {
template <census_target To>
inline constexpr detail::callable<detail::census_to<simd::this_thread, To>> census{};
}  // namespace lowp

namespace lowp::inline LOWP_UNIT {

/// Returns the text of a census, without its histogram, in three lines:
///
///     1000 elements, 5 of them 0; magnitudes from 0.000213 to 9.83e+04
///     overflow 10, flushed 0, subnormal 12; already infinite 0, NaN 0
///     relative error up to 0.00049, mean square error 0.0312
[[nodiscard]] inline std::string text(range_census const& all) {
  using detail::joined_text, detail::rough_text_of;
  std::string text = joined_text({all.count, " elements, ", all.zeros(), " of them 0"});
  if (all.exponents.total() != 0)
    text += joined_text({"; magnitudes from ", rough_text_of(all.min_abs.value()).c_str(), " to ",
                         rough_text_of(all.max_abs.value()).c_str()});
  return text += joined_text(
             {"\noverflow ", all.overflow, ", flushed ", all.flushed, ", subnormal ", all.subnormal,
              "; already infinite ", all.infinite, ", NaN ", all.nan, "\nrelative error up to ",
              rough_text_of(all.max_relative_error.value()).c_str(), ", mean square error ",
              rough_text_of(all.mean_square_error()).c_str()});
}

}  // namespace lowp::inline LOWP_UNIT
