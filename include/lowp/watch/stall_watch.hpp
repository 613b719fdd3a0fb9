// SPDX-License-Identifier: Apache-2.0
// Names tensors whose updates no longer arrive, while they train.
//
//     stall_watch watch;
//     each step:  std::vector<update_report> reports(list.size());
//                 update(list, optimizer, step, rounding, reports);
//                 for (auto const& alarm : watch.observe(list, optimizer, step, reports))
//                   std::puts(alarm.text().c_str());
//
// A tensor that is in no list, or in device memory, has a number:
//
//     auto const norm = watch.add("layers.0.norm.weight", p);
//     each step:  update_report report;
//                 update(p, g, m, v, optimizer, step, rounding, report);
//                 if (auto const alarm = watch.observe(norm, optimizer, step, report)) ...
//
// Give `update` moment_reports now and then, and pass them on in the same way.
#pragma once

#include <lowp/ops/lists.hpp>
#include <lowp/report/update_report.hpp>
#include <lowp/train/optimizer.hpp>
#include <lowp/watch/watched_tensor.hpp>

#include <optional>

namespace lowp::inline LOWP_UNIT {

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
      detail::refuse_if(
          detail::joined_text({"stall_watch: window is ", detail::shortest_text(policy.window).text,
                               " steps, not at least 1"}));
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
  template <readable P>
    requires(!detail::in_blocks<P>)
  std::size_t add(std::string name, P const& weights) {
    return add(std::move(name), detail::largest_gap(weights));
  }
  /// Measures the largest gap again, for weights that have grown.
  template <readable P>
    requires(!detail::in_blocks<P>)
  void measure_again(std::size_t tensor, P const& weights) {
    watched_tensor& t = known(tensor);
    double const gap = detail::largest_gap(weights);
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

  /// Records a step at the rate of an optimizer.
  std::optional<stall_alarm> observe(std::size_t tensor, optimizer auto const& optimizer,
                                     std::uint64_t step, update_report const& report) {
    return observe(tensor, step, optimizer.lr, report);
  }

  /// Records a step of a list, after `update` took it. The first call adds the tensors of the list,
  /// by their names and memory. The watch reads their weights, and again after each `window` steps.
  /// @param list     tensors of `update`, in host memory
  /// @param reports  one for each tensor, on this step alone
  /// @return  the alarms of tensors that are frozen now and were not before the step
  /// @throws std::invalid_argument  the numbers of reports and tensors differ, or of elements of a
  ///                                report and its tensor; lr is not finite and at least 0
  std::vector<stall_alarm> observe(call_list auto const& list, optimizer auto const& optimizer,
                                   std::uint64_t step, std::span<update_report const> reports) {
    double const lr = optimizer.lr;
    refuse_unless_finite(optimizer.name, "lr", lr);
    return observe_each<stall_alarm>(
        list, reports, [&](std::size_t number, auto const& tensor, update_report const& report) {
          measure_now_and_then(tensors_[number], tensor.p);
          return observe(number, step, lr, report);
        });
  }
  /// Records the moments of a step of a list.
  /// @return  the alarms of second moments that are biased now and were not before the step
  std::vector<moment_alarm> observe(call_list auto const& list, optimizer auto const&,
                                    std::uint64_t step, std::span<moment_report const> reports) {
    return observe_each<moment_alarm>(
        list, reports, [&](std::size_t number, auto const&, moment_report const& report) {
          return observe(number, step, report);
        });
  }

  [[nodiscard]] std::vector<watched_tensor> const& tensors() const { return tensors_; }

 private:
  watched_tensor& known(std::size_t tensor) {
    if (tensor >= tensors_.size())
      detail::refuse_if(detail::joined_text(
          {"stall_watch: there is no tensor ", tensor, " of ", tensors_.size()}));
    return tensors_[tensor];
  }
  static void refuse_unless_finite(std::string const& tensor, char const* what, double x) {
    detail::refuse_if(detail::check_numbers(
        detail::joined_text({"stall_watch: ", tensor.c_str()}).c_str(), {{what, x}}));
  }
  template <class Alarm, class List, class Report>
  std::vector<Alarm> observe_each(List const& list, std::span<Report const> reports,
                                  auto const& record) {
    auto const count = static_cast<std::size_t>(std::ranges::distance(list));
    if (reports.size() != count)
      detail::refuse_if(detail::joined_text(
          {"stall_watch: ", reports.size(), " reports for a list of ", count, " tensors"}));
    std::uint32_t place = 0;
    for (auto const& tensor : list) {
      std::uint64_t const seen = reports[place].count, size = detail::read("p", tensor.p).size();
      if (seen != size)
        detail::refuse_if(detail::joined_text(
            {"stall_watch: the report on tensor ", detail::tensor_text(list, place), " counts ",
             seen, " elements of ", size, ": reports add up, so give each step new ones"}));
      ++place;
    }
    std::vector<Alarm> alarms;
    std::size_t number = 0;
    place = 0;
    for (auto const& tensor : list) {
      number = number_of(tensor, place, number);
      auto const alarm = record(number++, tensor, reports[place++]);
      if (alarm) alarms.push_back(*alarm);
    }
    return alarms;
  }
  /// Returns the number of a list's tensor, which it adds if it is new.
  /// @param guess  where the search begins: the tensors of a list follow each other
  std::size_t number_of(auto const& tensor, std::uint32_t place, std::size_t guess) {
    auto& p = tensor.p;
    using argument = detail::argument_of<std::remove_reference_t<decltype(p)>>;
    void const* const weights = argument::extents("p", p)[0].data;
    std::string name = tensor.name.empty() ? detail::joined_text({"tensor ", place}).c_str()
                                           : std::string(tensor.name);
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      std::size_t const number = (guess + i) % tensors_.size();
      if (tensors_[number].weights == weights && tensors_[number].name == name) return number;
    }
    tensors_.push_back({.name = std::move(name), .weights = weights});
    return tensors_.size() - 1;
  }
  void measure_now_and_then(watched_tensor& t, auto const& weights) const {
    auto const period =
        static_cast<std::uint64_t>(0x1p32 < policy_.window ? 0x1p32 : policy_.window);
    if (t.steps % period != 0) return;
    double const gap = detail::largest_gap(weights);
    if (detail::check_numbers("", {{"", gap}}).empty()) t.largest_gap = gap;
  }

  LOWP_OPAQUE void remember(watched_tensor& t, moment_counts const& v) const {
    double const kept = 1 - 1 / policy_.window;
    t.moment_error = kept * t.moment_error + v.error.value();
    t.moment_size = kept * t.moment_size + v.size.value();
    t.moment_stalled = kept * t.moment_stalled + static_cast<double>(v.stalled);
    t.moment_wished = kept * t.moment_wished + static_cast<double>(v.wished);
    if (++t.moment_steps >= policy_.least_steps)
      t.is_moment_biased = __builtin_fabs(t.moment_bias()) > policy_.largest_bias;
  }
  LOWP_OPAQUE bool changes_verdict(watched_tensor& t, double lr,
                                   update_report const& report) const {
    remember(t, lr, report);
    return is_known(t) && is_frozen(t) != t.is_frozen;
  }
  void remember(watched_tensor& t, double lr, update_report const& report) const {
    double const kept = has_evidence(t) ? 1 - 1 / policy_.window : 1;
    double const applied = report.applied.value(), requested = report.requested.value();
    ++t.steps;
    t.nonfinite = report.nonfinite;
    t.nonfinite_steps = report.nonfinite == 0 ? 0 : t.nonfinite_steps + 1;
    t.silent = requested > 0 && detail::is_equal(applied, 0.0) ? t.silent + 1 : 0;
    t.silent_requested = t.silent == 0 ? 0 : t.silent_requested + requested;
    // No update of floats is left at a smaller rate, and a quotient could be infinite for ever.
    if (!(lr > 0x1p-300)) return;
    t.applied = kept * t.applied + applied / lr;
    t.requested = kept * t.requested + requested / lr;
    t.heaviest *= kept;
    if (t.heaviest < 1 / lr) t.heaviest = 1 / lr;
    t.stalled = kept * t.stalled + static_cast<double>(report.stalled);
    t.count = kept * t.count + static_cast<double>(report.count - report.nonfinite);
  }
  bool stays_nonfinite(watched_tensor const& t) const {
    return t.nonfinite != 0 && t.nonfinite_steps >= policy_.least_steps;
  }
  bool has_evidence(watched_tensor const& t) const {
    return t.requested > 0 && t.requested >= policy_.evidence * t.largest_gap * t.heaviest;
  }
  bool stays_silent(watched_tensor const& t) const {
    return static_cast<double>(t.silent) >= policy_.window &&
           t.silent_requested >= policy_.evidence * t.largest_gap;
  }
  /// Returns true if the evidence suffices for a verdict.
  bool is_known(watched_tensor const& t) const {
    return t.steps - t.since >= policy_.least_steps &&
           (has_evidence(t) || stays_silent(t) || stays_nonfinite(t));
  }
  bool is_frozen(watched_tensor const& t) const {
    return stays_nonfinite(t) || stays_silent(t) || t.applied < policy_.least_applied * t.requested;
  }

  stall_policy policy_;
  std::vector<watched_tensor> tensors_;
};

LOWP_EXACT_END

}  // namespace lowp::inline LOWP_UNIT
