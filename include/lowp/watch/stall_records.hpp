// SPDX-License-Identifier: Apache-2.0
// The records of a stall_watch, and their texts.
#pragma once

#include <lowp/ops/lists.hpp>
#include <lowp/report/update_report.hpp>
#include <lowp/train/optimizer.hpp>
#include <lowp/watch/watched_tensor.hpp>

#include <optional>

namespace lowp::detail::inline LOWP_SHARED {

/// A tensor of a list that a stall_watch observes.
struct observed_tensor {
  std::string_view name;
  void const* weights;
  std::size_t size;
};

/// A list's tensors, and their numbers in a stall_watch.
struct observed_tensors {
  LOWP_HOST_FN observed_tensors() {}
  observed_tensors(observed_tensors const&) = delete;
  ~observed_tensors();

  void add(observed_tensor const& tensor);

  std::vector<observed_tensor> all;
  std::vector<std::size_t> numbers;
};

/// The part of a stall_watch that knows no type of tensor.
class stall_records {
 public:
  /// Adds a tensor whose values have gaps of at most `largest_gap`. Returns its number.
  /// @throws std::invalid_argument  the gap is not finite and at least 0
  std::size_t add(std::string name, double largest_gap);

  /// Records a step, by a report on this step alone.
  /// @return  an alarm if the tensor is frozen now and was not before the step
  /// @throws std::invalid_argument  no tensor has that number; lr is not finite and at least 0
  std::optional<stall_alarm> observe(std::size_t tensor, std::uint64_t step, double lr,
                                     update_report const& report);
  /// Records the moments of a step, by a report on this step alone.
  /// @return  an alarm if the second moment is biased now and was not before the step
  /// @throws std::invalid_argument  no tensor has that number
  std::optional<moment_alarm> observe(std::size_t tensor, std::uint64_t step,
                                      moment_report const& report);

  [[nodiscard]] std::vector<watched_tensor> const& tensors() const { return tensors_; }

 protected:
  explicit stall_records(stall_policy const& policy);
  LOWP_HOST_FN stall_records(stall_records const&) = default;
  LOWP_HOST_FN stall_records(stall_records&&) = default;
  LOWP_HOST_FN stall_records& operator=(stall_records const&) = default;
  LOWP_HOST_FN stall_records& operator=(stall_records&&) = default;
  ~stall_records();

  watched_tensor& known(std::size_t tensor);
  static void refuse_unless_finite(char const* tensor, char const* what, double x);
  /// Sets the numbers of a list's tensors. Adds those that are new.
  template <class Report>
  void find(observed_tensors& list, std::span<Report const> reports);
  /// Returns true if the watch reads a tensor's weights in this step.
  [[nodiscard]] bool is_due(observed_tensors const& list, std::size_t place) const;
  void measured(observed_tensors const& list, std::size_t place, double gap);
  std::vector<stall_alarm> observe(observed_tensors const& list, std::uint64_t step, double lr,
                                   std::span<update_report const> reports);
  std::vector<moment_alarm> observe(observed_tensors const& list, std::uint64_t step,
                                    std::span<moment_report const> reports);

 private:
  std::size_t number_of(observed_tensor const& tensor, std::size_t place, std::size_t guess);
  void remember(watched_tensor& t, moment_counts const& v) const;
  bool changes_verdict(watched_tensor& t, double lr, update_report const& report) const;
  void remember(watched_tensor& t, double lr, update_report const& report) const;
  bool has_evidence(watched_tensor const& t) const;

  stall_policy policy_;
  std::vector<watched_tensor> tensors_;
};

#if defined(LOWP_BODIES)

LOWP_EXACT_BEGIN

LOWP_LIB stall_records::stall_records(stall_policy const& policy) : policy_(policy) {
  refuse_if(check_numbers("stall_watch", {{"window", policy.window},
                                          {"least_applied", policy.least_applied},
                                          {"evidence", policy.evidence},
                                          {"largest_bias", policy.largest_bias}}));
  if (policy.window < 1)
    refuse_if(joined_text(
        {"stall_watch: window is ", shortest_text(policy.window).text, " steps, not at least 1"}));
}
LOWP_LIB stall_records::~stall_records() = default;

LOWP_LIB std::size_t stall_records::add(std::string name, double largest_gap) {
  refuse_unless_finite(name.c_str(), "largest_gap", largest_gap);
  tensors_.push_back({.name = std::move(name), .largest_gap = largest_gap});
  return tensors_.size() - 1;
}
LOWP_LIB std::optional<stall_alarm> stall_records::observe(std::size_t tensor, std::uint64_t step,
                                                           double lr, update_report const& report) {
  watched_tensor& t = known(tensor);
  refuse_unless_finite(t.name.c_str(), "lr", lr);
  default_environment const environment;
  if (!changes_verdict(t, lr, report)) return {};
  t.is_frozen = !t.is_frozen;
  t.since = t.steps;
  if (!t.is_frozen) return {};
  return stall_alarm{tensor, step, lr, t};
}
LOWP_LIB std::optional<moment_alarm> stall_records::observe(std::size_t tensor, std::uint64_t step,
                                                            moment_report const& report) {
  watched_tensor& t = known(tensor);
  default_environment const environment;
  bool const was_biased = t.is_moment_biased;
  remember(t, report.second);
  if (was_biased || !t.is_moment_biased) return {};
  return moment_alarm{tensor, step, t};
}

LOWP_LIB watched_tensor& stall_records::known(std::size_t tensor) {
  if (tensor >= tensors_.size())
    refuse_if(joined_text({"stall_watch: there is no tensor ", tensor, " of ", tensors_.size()}));
  return tensors_[tensor];
}
LOWP_LIB void stall_records::refuse_unless_finite(char const* tensor, char const* what, double x) {
  refuse_if(check_numbers(joined_text({"stall_watch: ", tensor}).c_str(), {{what, x}}));
}
LOWP_LIB std::size_t stall_records::number_of(observed_tensor const& tensor, std::size_t place,
                                              std::size_t guess) {
  std::string name =
      tensor.name.empty() ? joined_text({"tensor ", place}).c_str() : std::string(tensor.name);
  // The tensors of a list follow each other.
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    std::size_t const number = (guess + i) % tensors_.size();
    if (tensors_[number].weights == tensor.weights && tensors_[number].name == name) return number;
  }
  tensors_.push_back({.name = std::move(name), .weights = tensor.weights});
  return tensors_.size() - 1;
}
LOWP_LIB observed_tensors::~observed_tensors() = default;
LOWP_LIB void observed_tensors::add(observed_tensor const& tensor) { all.push_back(tensor); }

template <class Report>
LOWP_LIB void stall_records::find(observed_tensors& tensors, std::span<Report const> reports) {
  std::span<observed_tensor const> const list = tensors.all;
  if (reports.size() != list.size())
    refuse_if(joined_text(
        {"stall_watch: ", reports.size(), " reports for a list of ", list.size(), " tensors"}));
  for (std::size_t place = 0; place < list.size(); ++place) {
    std::uint64_t const seen = reports[place].count, size = list[place].size;
    if (seen != size)
      refuse_if(
          joined_text({"stall_watch: the report on tensor ",
                       tensor_text(list, static_cast<std::uint32_t>(place)), " counts ", seen,
                       " elements of ", size, ": reports add up, so give each step new ones"}));
  }
  std::vector<std::size_t>& numbers = tensors.numbers;
  for (observed_tensor const& tensor : list)
    numbers.push_back(number_of(tensor, numbers.size(), numbers.empty() ? 0 : numbers.back() + 1));
}
#if defined(LOWP_PART_shared)
template void stall_records::find(observed_tensors&, std::span<update_report const>);
template void stall_records::find(observed_tensors&, std::span<moment_report const>);
#endif
LOWP_LIB bool stall_records::is_due(observed_tensors const& list, std::size_t place) const {
  auto const period = static_cast<std::uint64_t>(0x1p32 < policy_.window ? 0x1p32 : policy_.window);
  return tensors_[list.numbers[place]].steps % period == 0;
}
LOWP_LIB void stall_records::measured(observed_tensors const& list, std::size_t place, double gap) {
  if (check_numbers("", {{"", gap}}).empty()) tensors_[list.numbers[place]].largest_gap = gap;
}
LOWP_LIB std::vector<stall_alarm> stall_records::observe(observed_tensors const& list,
                                                         std::uint64_t step, double lr,
                                                         std::span<update_report const> reports) {
  std::vector<stall_alarm> alarms;
  for (std::size_t i = 0; i < reports.size(); ++i)
    if (auto const alarm = observe(list.numbers[i], step, lr, reports[i])) alarms.push_back(*alarm);
  return alarms;
}
LOWP_LIB std::vector<moment_alarm> stall_records::observe(observed_tensors const& list,
                                                          std::uint64_t step,
                                                          std::span<moment_report const> reports) {
  std::vector<moment_alarm> alarms;
  for (std::size_t i = 0; i < reports.size(); ++i)
    if (auto const alarm = observe(list.numbers[i], step, reports[i])) alarms.push_back(*alarm);
  return alarms;
}

LOWP_OPAQUE LOWP_LIB void stall_records::remember(watched_tensor& t, moment_counts const& v) const {
  double const kept = 1 - 1 / policy_.window;
  t.moment_error = kept * t.moment_error + v.error.value();
  t.moment_size = kept * t.moment_size + v.size.value();
  t.moment_stalled = kept * t.moment_stalled + static_cast<double>(v.stalled);
  t.moment_wished = kept * t.moment_wished + static_cast<double>(v.wished);
  if (++t.moment_steps >= policy_.least_steps)
    t.is_moment_biased = __builtin_fabs(t.moment_bias()) > policy_.largest_bias;
}
LOWP_OPAQUE LOWP_LIB bool stall_records::changes_verdict(watched_tensor& t, double lr,
                                                         update_report const& report) const {
  remember(t, lr, report);
  bool const stays_nonfinite = t.nonfinite != 0 && t.nonfinite_steps >= policy_.least_steps;
  bool const stays_silent = static_cast<double>(t.silent) >= policy_.window &&
                            t.silent_requested >= policy_.evidence * t.largest_gap;
  bool const is_frozen =
      stays_nonfinite || stays_silent || t.applied < policy_.least_applied * t.requested;
  return is_frozen != t.is_frozen && t.steps - t.since >= policy_.least_steps &&
         (has_evidence(t) || stays_silent || stays_nonfinite);
}
LOWP_LIB void stall_records::remember(watched_tensor& t, double lr,
                                      update_report const& report) const {
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
LOWP_LIB bool stall_records::has_evidence(watched_tensor const& t) const {
  return t.requested > 0 && t.requested >= policy_.evidence * t.largest_gap * t.heaviest;
}

LOWP_EXACT_END

#endif

}  // namespace lowp::detail::inline LOWP_SHARED

#if defined(LOWP_BODIES)
namespace lowp::inline LOWP_SHARED {

LOWP_LIB std::string stall_alarm::text() const {
  return detail::joined_text({state.name.c_str(), " is ", verdict().c_str()});
}
LOWP_LIB std::string stall_alarm::verdict() const {
  using detail::joined_text, detail::percent_of, detail::float_text;
  if (state.nonfinite != 0)
    return joined_text(
        {"frozen at step ", step, ": ", state.nonfinite,
         " elements are not finite, in the weight, the update or a stored moment, for ",
         state.nonfinite_steps, " steps"});
  return joined_text(
      {"frozen at step ", step, ": ", percent_of(state.applied_ratio()),
       " of recent updates was applied, ", percent_of(state.stalled_share()),
       " of elements stalled, nothing changed for ", state.silent, " steps; lr is ",
       float_text(lr).text,
       ", and rounded to nearest most updates of the largest weights are lost below ",
       float_text(state.freezing_lr()).text});
}
LOWP_LIB std::string moment_alarm::text() const {
  return detail::joined_text(
      {state.name.c_str(), ": rounding biases v by ", detail::float_text(state.moment_bias()).text,
       " in a step, at step ", step, "; ", detail::percent_of(state.moment_stalled_share()),
       " of the elements that should change stayed; store v in float, or round it"
       " stochastically"});
}

}  // namespace lowp::inline LOWP_SHARED
#endif
