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

#include <lowp/watch/stall_records.hpp>

namespace lowp::inline LOWP_UNIT {

/// Watches any number of tensors, each through the report of its steps.
class stall_watch : public detail::stall_records {
 public:
  /// @throws std::invalid_argument  a number of `policy` is negative or not finite; window below 1
  explicit stall_watch(stall_policy const& policy = {}) : stall_records(policy) {}

  using stall_records::add, stall_records::observe;
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
    refuse_unless_finite(t.name.c_str(), "largest_gap", gap);
    t.largest_gap = gap;
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
    refuse_unless_finite(optimizer.name, "lr", optimizer.lr);
    detail::observed_tensors all;
    observe_all(all, list, reports);
    std::size_t place = 0;
    for (auto const& tensor : list) {
      if (is_due(all, place)) measured(all, place, detail::largest_gap(tensor.p));
      ++place;
    }
    return stall_records::observe(all, step, optimizer.lr, reports);
  }
  /// Records the moments of a step of a list.
  /// @return  the alarms of second moments that are biased now and were not before the step
  std::vector<moment_alarm> observe(call_list auto const& list, optimizer auto const&,
                                    std::uint64_t step, std::span<moment_report const> reports) {
    detail::observed_tensors all;
    observe_all(all, list, reports);
    return stall_records::observe(all, step, reports);
  }

 private:
  void observe_all(detail::observed_tensors& all, auto const& list, auto reports) {
    for (auto const& tensor : list) {
      auto const p = detail::read("p", tensor.p);
      detail::extent ranges[decltype(p)::ranges];
      p.describe(ranges);
      detail::extent const& first = ranges[0];
      all.add(detail::observed_tensor{tensor.name, first.data, first.size});
    }
    find(all, reports);
  }
};

}  // namespace lowp::inline LOWP_UNIT
