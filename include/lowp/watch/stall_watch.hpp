// SPDX-License-Identifier: Apache-2.0
// Names tensors whose updates no longer arrive, while they train.
//
//     stall_watch watch;
//     auto const norm = watch.add("layers.0.norm.weight", p);
//     each step:  update_report report;
//                 update(p, g, m, v, optimizer, step, rounding, report);
//                 if (auto const alarm = watch.observe(norm, step, optimizer.lr, report))
//                   std::puts(alarm->text().c_str());
//
// Give `update` a moment_report now and then, and pass it on: watch.observe(norm, step, report).
#pragma once

#include <lowp/format/math.hpp>
#include <lowp/measure/measuring.hpp>
#include <lowp/report/moment_report.hpp>
#include <lowp/report/outside.hpp>
#include <lowp/report/update_report.hpp>
#include <lowp/train/optimizer.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace lowp {

/// The conditions under which a tensor is frozen. Less than `least_applied` of the updates that
/// recent steps requested was applied. And these requests amount to `evidence` times the largest
/// gap between weights. Each step counts in units of its learning rate. A tensor is frozen, too, if
/// each of the last `least_steps` steps had an element that is not finite: an infinite second
/// moment stops its weight for good.
///
/// The second condition keeps stochastic rounding from false alarms. There the sum of all updates,
/// in gaps, is the expected number E of moves, which are independent. Fewer than s E happen with a
/// probability below exp(-E (1 - s + s ln s)) (Chernoff). With the defaults this is 2e-9.
struct stall_policy {
  double window = 100;  ///< steps; older ones count less, by a factor 1 - 1/window each
  double least_applied = 0.1;
  double evidence = 30;            ///< 0 if rounding is not stochastic and tensors are small
  std::uint64_t least_steps = 10;  ///< between two changes of the verdict
  double largest_bias = 1e-4;  ///< of a second moment in a step; it adds up to 1e-4 / (1 - beta2)
};

inline namespace LOWP_UNIT {

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
  std::uint64_t since = 0;  ///< number of observed steps at the last change of is_frozen

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
  [[nodiscard]] std::string text() const { return state.name + " is " + verdict(); }
  /// Returns the same text without the name.
  [[nodiscard]] std::string verdict() const {
    using detail::percent_of, detail::text_of;
    auto const number = [](double x) { return text_of(convert<float>(x)); };
    if (state.nonfinite != 0)
      return "frozen at step " + std::to_string(step) + ": " + std::to_string(state.nonfinite) +
             " elements are not finite, in the weight, the update or a stored moment, for " +
             std::to_string(state.nonfinite_steps) + " steps";
    return "frozen at step " + std::to_string(step) + ": " + percent_of(state.applied_ratio()) +
           " of recent updates was applied, " + percent_of(state.stalled_share()) +
           " of elements stalled, nothing changed for " + std::to_string(state.silent) +
           " steps; lr is " + number(lr) +
           ", and rounded to nearest most updates of the largest weights are lost below " +
           number(state.freezing_lr());
  }
};

struct moment_alarm {
  std::size_t tensor;
  std::uint64_t step;
  watched_tensor state;  ///< state at the alarm

  /// Returns "norm.weight: rounding biases v by 0.0005 in a step, at step 20; ...".
  [[nodiscard]] std::string text() const {
    return state.name + ": rounding biases v by " +
           detail::text_of(convert<float>(state.moment_bias())) + " in a step, at step " +
           std::to_string(step) + "; " + detail::percent_of(state.moment_stalled_share()) +
           " of the elements that should change stayed; store v in float, or round it"
           " stochastically";
  }
};

LOWP_EXACT_BEGIN

/// Watches any number of tensors, each through the report of its steps.
class stall_watch {
 public:
  /// @throws std::invalid_argument  a number of `policy` is negative or not finite; window below 1
  explicit stall_watch(stall_policy const& policy = {}) : policy_(policy) {
    detail::refuse_if(
        detail::check_numbers("stall_watch", {{"window", policy.window},
                                              {"least_applied", policy.least_applied},
                                              {"evidence", policy.evidence},
                                              {"largest_bias", policy.largest_bias}}));
    if (policy.window < 1)
      detail::refuse_if("stall_watch: window is " + detail::text_of(policy.window) +
                        " steps, not at least 1");
  }

  /// Adds a tensor whose values have gaps of at most `largest_gap`. Returns its number.
  /// @throws std::invalid_argument  the gap is not finite and at least 0
  std::size_t add(std::string name, double largest_gap) {
    refuse_unless_finite(name, "largest_gap", largest_gap);
    tensors_.push_back({.name = std::move(name), .largest_gap = largest_gap});
    return tensors_.size() - 1;
  }
  /// Adds a tensor with these weights. Returns its number.
  /// @throws std::invalid_argument  a weight is infinite or NaN
  template <input P>
  std::size_t add(std::string name, P const& weights) {
    return add(std::move(name), gap_of(weights));
  }
  /// Measures the largest gap again, for weights that have grown.
  template <input P>
  void measure_again(std::size_t tensor, P const& weights) {
    watched_tensor& t = known(tensor);
    double const gap = gap_of(weights);
    refuse_unless_finite(t.name, "largest_gap", gap);
    t.largest_gap = gap;
  }

  /// Records a step, by a report on this step alone.
  /// @return  an alarm if the tensor is frozen now and was not before the step
  /// @throws std::invalid_argument  no tensor has that number; lr is not finite and at least 0
  std::optional<stall_alarm> observe(std::size_t tensor, std::uint64_t step, double lr,
                                     update_report const& report) {
    watched_tensor& t = known(tensor);
    refuse_unless_finite(t.name, "lr", lr);
    detail::default_environment const environment;
    if (!changes_verdict(t, lr, report)) return {};
    t.is_frozen = !t.is_frozen;
    t.since = t.steps;
    if (!t.is_frozen) return {};
    return stall_alarm{tensor, step, lr, t};
  }

  /// Records the moments of a step, by a report on this step alone.
  /// @return  an alarm if the second moment is biased now and was not before the step
  /// @throws std::invalid_argument  no tensor has that number
  std::optional<moment_alarm> observe(std::size_t tensor, std::uint64_t step,
                                      moment_report const& report) {
    watched_tensor& t = known(tensor);
    detail::default_environment const environment;
    bool const was_biased = t.is_moment_biased;
    remember(t, report.second);
    if (was_biased || !t.is_moment_biased) return {};
    return moment_alarm{tensor, step, t};
  }

  [[nodiscard]] std::vector<watched_tensor> const& tensors() const { return tensors_; }

 private:
  watched_tensor& known(std::size_t tensor) {
    if (tensor >= tensors_.size())
      detail::refuse_if("stall_watch: there is no tensor " + std::to_string(tensor) + " of " +
                        std::to_string(tensors_.size()));
    return tensors_[tensor];
  }
  static void refuse_unless_finite(std::string const& tensor, char const* what, double x) {
    detail::refuse_if(detail::check_numbers(("stall_watch: " + tensor).c_str(), {{what, x}}));
  }
  template <class P>
  static double gap_of(P const& weights) {
    using T = element_of<P const&>;
    gradient_report const report = detail::measured(weights);
    if (report.nan != 0) return __builtin_nan("");
    float const largest = report.largest.value();
    detail::default_environment const environment;
    if constexpr (narrow<T>)
      return detail::as_double(ulp(T(largest)));
    else
      return detail::as_double(lanes::is_finite(largest)
                                   ? detail::step_above<detail::binary32>(lanes::bits(largest))
                                   : largest);
  }

  LOWP_OPAQUE void remember(watched_tensor& t, moment_counts const& v) const {
    double const kept = 1 - 1 / policy_.window;
    t.moment_error = kept * t.moment_error + v.error.value();
    t.moment_size = kept * t.moment_size + v.size.value();
    t.moment_stalled = kept * t.moment_stalled + static_cast<double>(v.stalled);
    t.moment_wished = kept * t.moment_wished + static_cast<double>(v.wished);
    if (++t.moment_steps >= policy_.least_steps)
      t.is_moment_biased = std::fabs(t.moment_bias()) > policy_.largest_bias;
  }
  LOWP_OPAQUE bool changes_verdict(watched_tensor& t, double lr,
                                   update_report const& report) const {
    remember(t, lr, report);
    return is_known(t) && is_frozen(t) != t.is_frozen;
  }
  void remember(watched_tensor& t, double lr, update_report const& report) const {
    double const kept = 1 - 1 / policy_.window;
    double const applied = report.applied.value(), requested = report.requested.value();
    ++t.steps;
    t.nonfinite = report.nonfinite;
    t.nonfinite_steps = report.nonfinite == 0 ? 0 : t.nonfinite_steps + 1;
    t.silent = requested > 0 && detail::is_equal(applied, 0.0) ? t.silent + 1 : 0;
    // No update of floats is left at a smaller rate, and a quotient could be infinite for ever.
    if (!(lr > 0x1p-300)) return;
    t.applied = kept * t.applied + applied / lr;
    t.requested = kept * t.requested + requested / lr;
    t.heaviest = std::max(kept * t.heaviest, 1 / lr);
    t.stalled = kept * t.stalled + static_cast<double>(report.stalled);
    t.count = kept * t.count + static_cast<double>(report.count - report.nonfinite);
  }
  bool stays_nonfinite(watched_tensor const& t) const {
    return t.nonfinite != 0 && t.nonfinite_steps >= policy_.least_steps;
  }
  /// Returns true if the evidence suffices for a verdict.
  bool is_known(watched_tensor const& t) const {
    bool const is_enough =
        t.requested > 0 && t.requested >= policy_.evidence * t.largest_gap * t.heaviest;
    return t.steps - t.since >= policy_.least_steps && (is_enough || stays_nonfinite(t));
  }
  bool is_frozen(watched_tensor const& t) const {
    return stays_nonfinite(t) || t.applied < policy_.least_applied * t.requested;
  }

  stall_policy policy_;
  std::vector<watched_tensor> tensors_;
};

LOWP_EXACT_END

}  // namespace LOWP_UNIT

}  // namespace lowp
