// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/measure/gradients.hpp>
#include <lowp/ops/scaled_cast.hpp>
#include <lowp/ops/tensor_list.hpp>
#include <lowp/train/loss_scaler.hpp>

#include <cstdint>
#include <vector>

namespace lowp {

/// A tensor_list of plain spans.
template <class L>
concept input_list = tensor_list<L> && input<detail::values_of<L>>;
/// A writable input_list.
template <class L>
concept output_list = input_list<L> && output<detail::values_of<L>>;

namespace detail {

inline namespace LOWP_UNIT {

/// Returns the error text of a tensor that is listed twice.
template <class List>
error_text listed_twice(char const* function, List const& gradients) {
  std::vector<listed_range> ranges;
  std::uint32_t number = 0;
  for (auto const& t : gradients) list_ranges(ranges, read("", t.values).extents(), number++, true);
  return check_among(function, gradients, ranges);
}

}  // namespace LOWP_UNIT

template <class Executor, class List, class R>
[[nodiscard]] LOWP_HOST_FN error_text unscale_list_on(Executor const& executor,
                                                      List const& gradients, loss_scaler& scaler,
                                                      gradient_report& report, R const& rounding) {
  error_text wrong = check_inverse_scale("unscale", scaler.inverse_scale());
  if (wrong.empty()) wrong = listed_twice("unscale", gradients);
  if (!wrong.empty()) return wrong;
  std::uint32_t number = 0;
  for (auto const& t : gradients) {
    gradient_report own;
    unscale_on(executor, t.values, scaler.inverse_scale(), own,
               rounding_of_tensor(rounding, number++));
    scaler.observe(t.name, own);
    report += own;
  }
  return {};
}

template <class Executor, class List>
LOWP_HOST_FN gradient_report measure_list_on(Executor const& executor, List const& gradients) {
  gradient_report all;
  for (auto const& t : gradients) measure_on(executor, t.values, all);
  return all;
}

template <class Executor, class List, class R>
[[nodiscard]] LOWP_HOST_FN error_text clip_on(Executor const& executor, List const& gradients,
                                              double max_norm, gradient_report& report,
                                              R const& rounding) {
  unpacked const most = unpack(max_norm);
  if (most.nan || (most.negative && most.significand != 0) || (most.negative && most.infinite))
    return "clip: max_norm is " + text_of(max_norm) + ", not at least 0";
  error_text wrong = listed_twice("clip", gradients);
  if (!wrong.empty()) return wrong;
  gradient_report const own = measure_list_on(executor, gradients);
  report += own;
  float const factor = clip_factor(own.norm(), max_norm);
  if (own.nonfinite != 0 || lanes::bits(factor) == lanes::bits(1.0f)) return {};
  std::uint32_t number = 0;
  for (auto const& t : gradients) {
    // Unlike a scale, the factor may be 0.
    run(executor, "clip", make<scaling>{{factor}}, no_report,
        write("gradient", t.values, rounding_of_tensor(rounding, number++)),
        read("gradient", t.values));
  }
  return {};
}

}  // namespace detail

}  // namespace lowp
