// SPDX-License-Identifier: Apache-2.0
// A tensor of a stall_watch, when it is frozen, the gap at its largest value, and the alarms.
#pragma once

#include <lowp/base/text.hpp>
#include <lowp/format/math.hpp>
#include <lowp/report/update_report.hpp>
#include <lowp/train/gradients.hpp>
#include <lowp/train/least_update.hpp>
#include <lowp/train/optimizer.hpp>

namespace lowp {

/// The conditions under which a tensor is frozen. Less than `least_applied` of the updates that
/// recent steps requested was applied, or nothing in the last `window` steps. And these requests
/// amount to `evidence` times the largest gap between weights. Each step counts in units of its
/// learning rate. A small tensor needs more steps: until they are evidence, old ones count in full.
/// A tensor is frozen, too, if each of the last `least_steps` steps had an element that is not
/// finite: an infinite second moment stops its weight for good.
///
/// Evidence keeps stochastic rounding from false alarms. There the sum of all updates, in gaps, is
/// the expected number E of moves, which are independent. Fewer than s E happen with a probability
/// below exp(-E (1 - s + s ln s)) (Chernoff). With the defaults this is 2e-9.
struct stall_policy {
  double window = 100;  ///< steps; older ones count less, by a factor 1 - 1/window each
  double least_applied = 0.1;
  double evidence = 30;            ///< 0 if rounding is not stochastic: small tensors wait less
  std::uint64_t least_steps = 10;  ///< between two changes of the verdict
  double largest_bias = 1e-4;  ///< of a second moment in a step; it adds up to 1e-4 / (1 - beta2)
};

inline namespace LOWP_SHARED {

struct watched_tensor {
  std::string name;
  double largest_gap = 0;             ///< distance from its largest weight to the next larger value
  std::uint64_t steps = 0;            ///< observed steps
  std::uint64_t silent = 0;           ///< latest steps that requested something and changed nothing
  double applied = 0, requested = 0;  ///< recent sums of those of update_report, over the rate
  double stalled = 0, count = 0;      ///< recent elements that did not move as requested, and all
  double heaviest = 0;                ///< largest weight, 1 / rate, of a recent step in these
  std::uint64_t nonfinite = 0;        ///< elements of the latest step that were not finite
  std::uint64_t nonfinite_steps = 0;  ///< latest steps with such elements
  bool is_frozen = false;
  std::uint64_t since = 0;        ///< number of observed steps at the last change of is_frozen
  double silent_requested = 0;    ///< sum of |u| of the silent steps
  void const* weights = nullptr;  ///< first code of a list's tensor, which the watch knows it by

  // Recent sums of those of moment_counts, of the second moment.
  double moment_error = 0, moment_size = 0, moment_stalled = 0, moment_wished = 0;
  std::uint64_t moment_steps = 0;
  bool is_moment_biased = false;

  /// Returns the relative bias that rounding adds to the second moment in a step.
  LOWP_HOST_FN double moment_bias() const { return detail::quotient(moment_error, moment_size, 0); }
  /// Returns the share of the second moment's elements that wished to move and stayed.
  LOWP_HOST_FN double moment_stalled_share() const {
    return detail::quotient(moment_stalled, moment_wished, 0);
  }

  /// Returns the applied share of recent requests: 1 is faithful, 0 is frozen; 1 without requests.
  LOWP_HOST_FN double applied_ratio() const { return detail::quotient(applied, requested, 1); }
  /// Returns the share of recent elements that did not move as requested.
  LOWP_HOST_FN double stalled_share() const { return detail::quotient(stalled, count, 0); }
  /// Returns the recent mean of |u| / lr: typical_update::direction of advice.hpp.
  LOWP_HOST_FN double direction() const { return detail::quotient(requested, count, 0); }
  /// Returns the rate at which a mean update is half the gap of the largest weights. Below it, more
  /// than half of their updates, rounded to nearest, are lost. It is 0 while nothing is known.
  LOWP_HOST_FN double freezing_lr() const {
    return detail::quotient(detail::quotient(largest_gap, 2, 0), direction(), 0);
  }
};

struct stall_alarm {
  std::size_t tensor;
  std::uint64_t step;
  double lr;
  watched_tensor state;  ///< state at the alarm

  /// Returns "norm.weight is frozen at step 812: 0 % of recent updates was applied, ...".
  [[nodiscard]] std::string text() const;
  /// Returns the same text without the name.
  [[nodiscard]] std::string verdict() const;
};

struct moment_alarm {
  std::size_t tensor;
  std::uint64_t step;
  watched_tensor state;  ///< state at the alarm

  /// Returns "norm.weight: rounding biases v by 0.0005 in a step, at step 20; ...".
  [[nodiscard]] std::string text() const;
};

}  // namespace LOWP_SHARED

}  // namespace lowp

namespace lowp::detail {

LOWP_EXACT_BEGIN

inline namespace LOWP_SHARED {

template <element T>
LOWP_LIB double gap_at(float x) {
  if constexpr (narrow<T>)
    return as_double(ulp(T(x)));
  else
    return as_double(lanes::is_finite(x) ? step_above<binary32>(lanes::bits(x)) : x);
}
#if defined(LOWP_PART_shared)
template double gap_at<float>(float);
template double gap_at<bfloat16>(float);
#elif !defined(LOWP_BODIES)
extern template double gap_at<float>(float);
extern template double gap_at<bfloat16>(float);
#endif

}  // namespace LOWP_SHARED

inline namespace LOWP_UNIT {

/// Returns twice the smallest update that a storage keeps. If it has several parts, the others are
/// nearly as large as they can be, and so are their gaps.
template <class Layout>
LOWP_OPAQUE double gap_of(Layout const& layout, float x) {
  if constexpr (requires { Layout::working; }) {
    using T =
        std::tuple_element_t<static_cast<std::size_t>(Layout::working), typename Layout::parts>;
    float const between = x + narrowed(0.4375 * gap_at<T>(x));
    if (lanes::is_finite(between)) x = between;
  }
  float least = least_update<Layout, nearest_even>{layout, 0}(x);
  // Nothing upward moves the largest code of a format without infinity.
  if (!lanes::is_finite(least) && lanes::is_finite(x))
    least = least_update<Layout, nearest_even>{layout, lanes::binary32_sign}(x);
  return 2 * as_double(least);
}

/// Returns the distance from the largest magnitude to the next larger value; infinite or NaN if an
/// element is.
template <class P>
double largest_gap(P const& weights) {
  gradient_report const report = measure(weights);
  if (report.nan != 0) return __builtin_nan("");
  float const largest = report.largest.value();
  default_environment const environment;
  if constexpr (layered<P>)
    return gap_of(weights.layout(), largest);
  else
    return gap_at<explicit_of<element_of<P const&>>>(largest);
}

}  // namespace LOWP_UNIT

LOWP_EXACT_END

}  // namespace lowp::detail
