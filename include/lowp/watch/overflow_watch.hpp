// SPDX-License-Identifier: Apache-2.0
// Finds the layer that makes a NaN. A watch checks named places of a model. At the first infinity,
// NaN or overflowing value it reports the place and the causes.
//
//     overflow_watch<float16> watch;
//     auto const fc1 = watch.add("fc1", "Linear");
//     each step:  watch.step(step);
//                 ... watch.forward(fc1).weight(w).input(x).output(y);
//                 ... watch.backward(fc1).output(dy).input(dx).weight(dw);
//                 update_amax seen;
//                 update(w, dw, m, v, optimizer, step, rounding, seen);
//                 watch.update(fc1, seen);
//
// A watch names the first tensor with trouble: pass it a cause before its effects.
#pragma once

#include <lowp/measure/census/abs_range.hpp>
#include <lowp/report/amax.hpp>
#include <lowp/watch/stall_watch.hpp>
#include <lowp/watch/watched_frame.hpp>

namespace lowp::inline LOWP_UNIT {

/// Watches for values beyond `To`, the present or the later type of the tensors.
///
/// Not thread-safe: give each thread its own watch, or lock. Without trouble it allocates nothing
/// once it has seen every place in policy.frames frames.
///
/// @tparam To     float finds only infinities and NaN
/// @tparam Where  simd::this_thread, or a team: openmp::overflow_watch
template <census_target To = float, class Where = simd::this_thread>
class overflow_watch {
 public:
  using frame = watched_frame<overflow_watch>;

  /// @throws std::invalid_argument  policy.frames, .every or .weights_every is 0
  explicit overflow_watch(watch_policy policy = {})
      : policy_(std::move(policy)), frames_(policy_.frames), weights_(policy_.weights_every) {
    if (policy_.frames == 0) detail::refuse_if("overflow_watch: policy.frames is 0");
    if (policy_.every == 0) detail::refuse_if("overflow_watch: policy.every is 0");
    if (policy_.weights_every == 0) detail::refuse_if("overflow_watch: policy.weights_every is 0");
  }

  /// Names a place and its type, such as "Linear". Returns the place's number.
  std::size_t add(std::string name, std::string type = {},
                  source_place where = source_place::current()) {
    places_.push_back({.name = std::move(name), .type = std::move(type), .where = where});
    return places_.size() - 1;
  }

  /// Begins a step. `number` is the batch_number of its findings; the watch reports the first one.
  /// Without any call, all is step 0: each trouble throws, but a call_back gets only the first.
  /// @return  true if the step is watched
  bool step(std::uint64_t number) {
    step_ = number;
    has_begun_ = true;
    is_watched_ = number % policy_.every == 0;
    has_alarmed_ = false;
    return is_watched_;
  }

  /// Begins a frame. Pass it the place's tensors, in any order, once the place has finished.
  /// @param caller  never given: it notes where the expression ends
  /// @throws std::invalid_argument  no place has that number
  frame forward(std::size_t place, detail::watch_expression&& caller = {}) {
    return begin(place, watch_pass::forward, caller);
  }
  /// Begins a frame of the place's gradients.
  frame backward(std::size_t place, detail::watch_expression&& caller = {}) {
    return begin(place, watch_pass::backward, caller);
  }

  /// Checks, in any step, that an update of the place's weights was finite and stored so.
  /// @param report  report on this update alone
  void update(std::size_t place, update_report const& report) {
    known(place);
    bool const is_lost = report.nonfinite != 0;
    std::uint64_t const some = is_lost ? report.nonfinite : report.overflowed;
    if (some == 0) return;
    ++(is_lost ? places_[place].nan : places_[place].overflow);
    if (begin_alarm())
      alarm(is_lost ? watch_trouble::nan : watch_trouble::overflow, place, "update", {},
            detail::watch_amount(some, report.count,
                                 is_lost ? "not finite" : "beyond what is stored"));
  }
  /// Checks, in any step, that all values which an update read or made are finite and within `To`.
  /// @param seen  report on this update alone
  void update(std::size_t place, update_amax const& seen) { update(place, "weight", seen); }
  void update(std::size_t place, std::string_view weight, update_amax const& seen) {
    known(place);
    judge_update(place, std::string(weight) + ".grad", seen.gradient, seen.nan_gradient);
    judge_update(place, std::string(weight), seen.weight, seen.nan_weight);
  }
  /// Reports, in any step, that a stall_watch found frozen weights in the place.
  void stalled(std::size_t place, stall_alarm const& what) {
    known(place);
    ++places_[place].stalled;
    if (begin_alarm())
      alarm(watch_trouble::stalled, place, what.state.name, {},
            what.state.name == places_[place].name ? what.verdict() : what.text());
  }

  [[nodiscard]] bool is_watched() const { return is_watched_; }
  [[nodiscard]] std::vector<watched_place> const& places() const { return places_; }
  /// Returns the first trouble of all steps.
  [[nodiscard]] std::optional<watch_alarm> const& first() const { return first_; }
  /// Returns "Last 21 forward frames: ...", with all frames that the watch keeps.
  [[nodiscard]] std::string text() const { return frames_.text(places_); }

 private:
  friend frame;

  frame begin(std::size_t place, watch_pass pass, detail::watch_expression& caller) {
    known(place);
    if (!is_watched_) return frame(nullptr, 0);
    std::uint64_t const number = frames_.begin(place, pass, step_);
    caller.frames = &frames_;
    caller.number = number;
    return frame(this, number);
  }
  void known(std::size_t place) const {
    if (place >= places_.size())
      detail::refuse_if(detail::joined_text(
          {"overflow_watch: there is no place ", place, " of ", places_.size()}));
  }

  template <class S>
  static abs_range range_of(S& values) {
    if constexpr (readable<S>) {
      return detail::abs_range_from<To>(Where{}, values);
    } else if constexpr (std::derived_from<std::remove_cvref_t<S>, abs_range>) {
      return values;
    } else {
      static_assert(readable<S>,
                    "a watch reads a range of float or a narrow type, such as std::span(pointer, "
                    "count), a struct of the folder storage or an abs_range");
    }
  }

  detail::watch_frame& frame_of(std::uint64_t number) {
    detail::watch_frame* const found = frames_.find(number);
    if (found == nullptr)
      detail::refuse_if(detail::joined_text(
          {"overflow_watch: a tensor of a frame comes after ", policy_.frames, " later frames"}));
    return *found;
  }

  template <class T>
  void see(std::uint64_t frame_number, watch_role role, std::string_view name, T& values,
           detail::watch_expression& caller) {
    detail::watch_frame& current = frame_of(frame_number);
    if (role != watch_role::weight) {
      return add(current, {role, current.count(role), range_of(values)});
    }
    std::uint32_t const index = detail::watch_weights::number_of(places_[current.place], name);
    detail::watch_weight& known = weights_.at(current.place, current.pass, index);
    if constexpr (readable<T>) {
      bool const may_wait = current.is_open && !has_alarmed_;
      if (may_wait && detail::may_rest<To>(known, detail::read("weight", values).size())) {
        --known.rest;
        caller.frames = &frames_;
        caller.number = frame_number;
        auto const read = [](void const* later) {
          return range_of(*static_cast<T*>(const_cast<void*>(later)));
        };
        current.lines.push_back(
            {role, index, known.range, known.step, read, __builtin_addressof(values)});
        return;
      }
    }
    weights_.remember(known, range_of(values), step_);
    add(current, {role, index, known.range});
  }

  void add(detail::watch_frame& current, detail::watch_line const& line) {
    current.lines.push_back(line);
    if (line.range.is_sound()) return;
    std::vector<detail::watch_line> found;
    if (current.is_open) found = read_weights(current);
    found.push_back(line);
    // A call_back may begin frames, and so take the memory of this one.
    detail::watch_frame const seen = current;
    for (detail::watch_line const& each : found) judge(seen, each);
  }
  /// Reads all weights that wait, before one is judged, so that a report has their numbers. Returns
  /// those with trouble.
  std::vector<detail::watch_line> read_weights(detail::watch_frame& current) {
    std::vector<detail::watch_line> found;
    for (detail::watch_line& line : current.lines) {
      if (line.read == nullptr) continue;
      line.range = std::exchange(line.read, nullptr)(line.values);
      line.as_of.reset();
      weights_.remember(weights_.at(current.place, current.pass, line.number), line.range, step_);
      if (!line.range.is_sound()) found.push_back(line);
    }
    return found;
  }
  void judge(detail::watch_frame const& current, detail::watch_line const& line) {
    watched_place& place = places_[current.place];
    if (line.range.nan != 0) ++place.nan;
    if (line.range.infinite != 0) ++place.infinite;
    if (line.range.overflow != 0) ++place.overflow;
    if (begin_alarm())
      alarm(detail::watch_trouble_of(line.range), current.place,
            detail::watch_frames::label(place, current, line), line.range,
            detail::watch_amounts(current, line, float{std::numeric_limits<To>::max()}));
  }
  void judge_update(std::size_t place, std::string const& tensor, amax largest, std::uint64_t nan) {
    if (nan == 0 && largest.bits < detail::borders_of<To>.overflow) return;
    watched_place& at = places_[place];
    abs_range range;
    range.nan = nan;
    range.max_abs = largest;
    watch_trouble const trouble = detail::watch_trouble_of(range);
    bool const is_nan = trouble == watch_trouble::nan;
    bool const is_infinite = trouble == watch_trouble::infinite;
    ++(is_nan ? at.nan : is_infinite ? at.infinite : at.overflow);
    if (begin_alarm())
      alarm(trouble, place, tensor, range,
            detail::joined_text(
                {is_nan        ? "NaN"
                 : is_infinite ? "infinite"
                               : "up to ",
                 is_nan || is_infinite ? "" : detail::shortest_text(largest.value()).text,
                 " in an update"}));
  }

  /// Returns the lines of an alarm that are left for frames.
  [[nodiscard]] std::size_t most_lines() const {
    std::size_t const others = is_watched_ ? 2 : 3;
    return policy_.lines < others ? 0 : policy_.lines - others;
  }
  /// Takes note of a trouble. Returns true if it gets an alarm; only then is its text made.
  bool begin_alarm() {
    is_reported_ = !std::exchange(has_alarmed_, true) && (policy_.call_back || policy_.throws);
    return is_reported_ || !first_;
  }
  void alarm(watch_trouble trouble, std::size_t place, std::string const& tensor,
             abs_range const& range, detail::error_text const& details) {
    watched_place const& at = places_[place];
    bool const is_stalled = trouble == watch_trouble::stalled;
    watch_alarm found{trouble, place, at.name, at.type, at.where, tensor, step_, range, {}};
    found.text = detail::joined_text(
        {"Detected ",
         is_stalled                           ? "stalled tensor"
         : trouble == watch_trouble::overflow ? "overflow"
                                              : "inf/nan",
         " during batch_number=", step_, "\n", frames_.text(places_, most_lines()), at.name.c_str(),
         " (", at.where.text().c_str(), "): ", is_stalled ? "" : tensor.c_str(),
         is_stalled ? "" : ": ", details,
         is_watched_ ? detail::error_text()
                     : detail::watch_unseen(trouble, step_, policy_.every, frames_.step())});
    if (!first_) first_ = found;
    if (!is_reported_) return;
    if (policy_.call_back) return policy_.call_back(found);
    has_alarmed_ = has_begun_;
    detail::raise<watch_error>(found);
  }

  watch_policy policy_;
  detail::watch_frames frames_;
  detail::watch_weights weights_;
  std::vector<watched_place> places_;
  std::optional<watch_alarm> first_;
  std::uint64_t step_ = 0;
  bool has_begun_ = false;  ///< true once a step has begun
  bool is_watched_ = true, has_alarmed_ = false, is_reported_ = false;
};

}  // namespace lowp::inline LOWP_UNIT
