// SPDX-License-Identifier: Apache-2.0
// The findings of an overflow_watch, and their texts.
#pragma once

#include <lowp/measure/census/abs_range.hpp>
#include <lowp/report/amax.hpp>
#include <lowp/watch/stall_watch.hpp>
#include <lowp/watch/watched_frame.hpp>

namespace lowp::detail::inline LOWP_SHARED {

/// The part of an overflow_watch that knows no type of tensor.
class watch_state {
 public:
  /// Names a place and its type, such as "Linear". Returns the place's number.
  std::size_t add(std::string name, std::string type = {},
                  source_place where = source_place::current());

  /// Begins a step. `number` is the batch_number of its findings; the watch reports the first one.
  /// Without any call, all is step 0: each trouble throws, but a call_back gets only the first.
  /// @return  true if the step is watched
  bool step(std::uint64_t number);

  /// Checks, in any step, that an update of the place's weights was finite and stored so.
  /// @param report  report on this update alone
  void update(std::size_t place, update_report const& report);
  /// Checks, in any step, that all values which an update read or made are finite and within `To`.
  /// @param seen  report on this update alone
  void update(std::size_t place, update_amax const& seen) { update(place, "weight", seen); }
  void update(std::size_t place, std::string_view weight, update_amax const& seen);
  /// Reports, in any step, that a stall_watch found frozen weights in the place.
  void stalled(std::size_t place, stall_alarm const& what);

  [[nodiscard]] bool is_watched() const { return is_watched_; }
  [[nodiscard]] std::vector<watched_place> const& places() const { return places_; }
  /// Returns the first trouble of all steps.
  [[nodiscard]] std::optional<watch_alarm> const& first() const { return first_; }
  /// Returns "Last 21 forward frames: ...", with all frames that the watch keeps.
  [[nodiscard]] std::string text() const;

 protected:
  /// A weight that a frame gets.
  struct shown_weight {
    watch_frame& current;
    watch_weight& known;
    std::uint32_t index;
    bool may_wait;  ///< a later reading may find it
  };

  /// @param largest, border  the largest value of a tensor, and the bits of the first beyond it
  watch_state(watch_policy policy, float largest, std::uint32_t border);
  LOWP_HOST_FN watch_state(watch_state const&) = default;
  LOWP_HOST_FN watch_state(watch_state&&) = default;
  LOWP_HOST_FN watch_state& operator=(watch_state const&) = default;
  LOWP_HOST_FN watch_state& operator=(watch_state&&) = default;
  ~watch_state();

  /// Returns the number of a new frame, or 0 in a step that is not watched.
  std::uint64_t begin(std::size_t place, watch_pass pass, watch_expression& caller);
  watch_frame& frame_of(std::uint64_t number);
  shown_weight weight_of(std::uint64_t frame_number, std::string_view name);
  void add(watch_frame& current, watch_role role, abs_range const& range);
  void add(shown_weight const& weight, abs_range const& range);
  /// Adds a weight that `read` reads later, if it must.
  void wait(shown_weight const& weight, abs_range (*read)(void const*), void const* values,
            watch_expression& caller);

 private:
  void known(std::size_t place) const;
  watch_weight& weight_of(watch_frame const& frame, std::uint32_t number);
  /// Stores a reading. Weights are read in turns, so that each step reads about as many.
  void remember(watch_weight& weight, abs_range const& range);
  void add(watch_frame& current, watch_line const& line);
  void judge(watch_frame const& current, watch_line const& line);
  void judge_update(std::size_t place, std::string const& tensor, amax found, std::uint64_t nan);
  /// Takes note of a trouble. Returns true if it gets an alarm; only then is its text made.
  bool begin_alarm();
  void alarm(watch_trouble trouble, std::size_t place, std::string const& tensor,
             abs_range const& range, error_text const& details);

  watch_policy policy_;
  float largest_;
  std::uint32_t border_;
  watch_frames frames_;
  /// The weights of each place, then their gradients, by the number of their name in the place.
  std::vector<std::vector<watch_weight>> weights_;
  std::uint64_t known_weights_ = 0;
  std::vector<watched_place> places_;
  std::optional<watch_alarm> first_;
  std::uint64_t step_ = 0;
  bool has_begun_ = false;  ///< true once a step has begun
  bool is_watched_ = true, has_alarmed_ = false, is_reported_ = false;
};

#if defined(LOWP_BODIES)

LOWP_LIB watch_expression::~watch_expression() {
  watch_frame* const frame = frames == nullptr ? nullptr : frames->find(number);
  if (frame != nullptr) frame->is_open = false;
}

/// Returns the last line of a report in a step without frames. The first update that is not finite
/// may be that of an innocent layer: an infinity elsewhere makes all gradients NaN.
/// @param observed  the step of the last frame
inline error_text watch_unseen(watch_trouble trouble, std::uint64_t step, std::uint64_t every,
                               std::optional<std::uint64_t> const& observed) {
  error_text const text = joined_text(
      {"\nbatch_number=", step, " was not watched (policy.every = ", every, "), and ",
       observed ? joined_text({"the frames above are of batch_number=", *observed, " and before"})
                : "no frame was seen before it"});
  if (trouble == watch_trouble::stalled) return text;
  return joined_text({text, "; this is the first update found ",
                      trouble == watch_trouble::overflow ? "to overflow" : "not finite",
                      ", not necessarily where it began: watch each step to see"});
}

LOWP_LIB watch_state::watch_state(watch_policy policy, float largest, std::uint32_t border)
    : policy_(std::move(policy)), largest_(largest), border_(border), frames_(policy_.frames) {
  if (policy_.frames == 0) refuse_if("overflow_watch: policy.frames is 0");
  if (policy_.every == 0) refuse_if("overflow_watch: policy.every is 0");
  if (policy_.weights_every == 0) refuse_if("overflow_watch: policy.weights_every is 0");
}
LOWP_LIB watch_state::~watch_state() = default;

LOWP_LIB std::size_t watch_state::add(std::string name, std::string type, source_place where) {
  places_.push_back({.name = std::move(name), .type = std::move(type), .where = where});
  return places_.size() - 1;
}
LOWP_LIB bool watch_state::step(std::uint64_t number) {
  step_ = number;
  has_begun_ = true;
  is_watched_ = number % policy_.every == 0;
  has_alarmed_ = false;
  return is_watched_;
}
LOWP_LIB void watch_state::update(std::size_t place, update_report const& report) {
  known(place);
  bool const is_lost = report.nonfinite != 0;
  std::uint64_t const some = is_lost ? report.nonfinite : report.overflowed;
  if (some == 0) return;
  ++(is_lost ? places_[place].nan : places_[place].overflow);
  if (begin_alarm())
    alarm(is_lost ? watch_trouble::nan : watch_trouble::overflow, place, "update", {},
          watch_amount(some, report.count, is_lost ? "not finite" : "beyond what is stored"));
}
LOWP_LIB void watch_state::update(std::size_t place, std::string_view weight,
                                  update_amax const& seen) {
  known(place);
  judge_update(place, std::string(weight) + ".grad", seen.gradient, seen.nan_gradient);
  judge_update(place, std::string(weight), seen.weight, seen.nan_weight);
}
LOWP_LIB void watch_state::stalled(std::size_t place, stall_alarm const& what) {
  known(place);
  ++places_[place].stalled;
  if (begin_alarm())
    alarm(watch_trouble::stalled, place, what.state.name, {},
          what.state.name == places_[place].name ? what.verdict() : what.text());
}
LOWP_LIB std::string watch_state::text() const { return frames_.text(places_); }

LOWP_LIB std::uint64_t watch_state::begin(std::size_t place, watch_pass pass,
                                          watch_expression& caller) {
  known(place);
  if (!is_watched_) return 0;
  std::uint64_t const number = frames_.begin(place, pass, step_);
  caller.frames = &frames_;
  caller.number = number;
  return number;
}
LOWP_LIB void watch_state::known(std::size_t place) const {
  if (place >= places_.size())
    refuse_if(joined_text({"overflow_watch: there is no place ", place, " of ", places_.size()}));
}
LOWP_LIB watch_frame& watch_state::frame_of(std::uint64_t number) {
  watch_frame* const found = frames_.find(number);
  if (found == nullptr)
    refuse_if(joined_text(
        {"overflow_watch: a tensor of a frame comes after ", policy_.frames, " later frames"}));
  return *found;
}
LOWP_LIB watch_state::shown_weight watch_state::weight_of(std::uint64_t frame_number,
                                                          std::string_view name) {
  watch_frame& current = frame_of(frame_number);
  std::vector<std::string>& names = places_[current.place].weights;
  std::uint32_t index = 0;
  while (index < names.size() && names[index] != name) ++index;
  if (index == names.size()) names.emplace_back(name);
  return {current, weight_of(current, index), index, current.is_open && !has_alarmed_};
}
LOWP_LIB watch_weight& watch_state::weight_of(watch_frame const& frame, std::uint32_t number) {
  std::size_t const row = 2 * frame.place + (frame.pass == watch_pass::backward ? 1 : 0);
  if (row >= weights_.size()) weights_.resize(row + 1);
  if (number >= weights_[row].size()) weights_[row].resize(number + 1);
  return weights_[row][number];
}
LOWP_LIB void watch_state::remember(watch_weight& weight, abs_range const& range) {
  std::uint64_t const every = policy_.weights_every;
  weight = {range, step_, weight.is_known ? every - 1 : known_weights_++ % every, true};
}
LOWP_LIB void watch_state::add(watch_frame& current, watch_role role, abs_range const& range) {
  add(current, watch_line{role, current.count(role), range});
}
LOWP_LIB void watch_state::add(shown_weight const& weight, abs_range const& range) {
  remember(weight.known, range);
  add(weight.current, watch_line{watch_role::weight, weight.index, range});
}
LOWP_LIB void watch_state::wait(shown_weight const& weight, abs_range (*read)(void const*),
                                void const* values, watch_expression& caller) {
  --weight.known.rest;
  caller.frames = &frames_;
  caller.number = weight.current.number;
  weight.current.lines.push_back(
      {watch_role::weight, weight.index, weight.known.range, weight.known.step, read, values});
}
LOWP_LIB void watch_state::add(watch_frame& current, watch_line const& line) {
  current.lines.push_back(line);
  if (line.range.is_sound()) return;
  std::vector<watch_line> found;
  // Reads all weights that wait, before one is judged, so that a report has their numbers.
  for (watch_line& each : current.lines) {
    if (!current.is_open || each.read == nullptr) continue;
    each.range = std::exchange(each.read, nullptr)(each.values);
    each.as_of.reset();
    remember(weight_of(current, each.number), each.range);
    if (!each.range.is_sound()) found.push_back(each);
  }
  found.push_back(line);
  // A call_back may begin frames, and so take the memory of this one.
  watch_frame const seen = current;
  for (watch_line const& each : found) judge(seen, each);
}
LOWP_LIB void watch_state::judge(watch_frame const& current, watch_line const& line) {
  watched_place& place = places_[current.place];
  if (line.range.nan != 0) ++place.nan;
  if (line.range.infinite != 0) ++place.infinite;
  if (line.range.overflow != 0) ++place.overflow;
  if (begin_alarm())
    alarm(watch_trouble_of(line.range), current.place, watch_frames::label(place, current, line),
          line.range, watch_amounts(current, line, largest_));
}
LOWP_LIB void watch_state::judge_update(std::size_t place, std::string const& tensor, amax found,
                                        std::uint64_t nan) {
  if (nan == 0 && found.bits < border_) return;
  watched_place& at = places_[place];
  abs_range range;
  range.nan = nan;
  range.max_abs = found;
  watch_trouble const trouble = watch_trouble_of(range);
  bool const is_nan = trouble == watch_trouble::nan;
  bool const is_infinite = trouble == watch_trouble::infinite;
  ++(is_nan ? at.nan : is_infinite ? at.infinite : at.overflow);
  if (begin_alarm())
    alarm(trouble, place, tensor, range,
          joined_text({is_nan        ? "NaN"
                       : is_infinite ? "infinite"
                                     : joined_text({"up to ", shortest_text(found.value()).text}),
                       " in an update"}));
}
LOWP_LIB bool watch_state::begin_alarm() {
  is_reported_ = !std::exchange(has_alarmed_, true) && (policy_.call_back || policy_.throws);
  return is_reported_ || !first_;
}
LOWP_LIB void watch_state::alarm(watch_trouble trouble, std::size_t place,
                                 std::string const& tensor, abs_range const& range,
                                 error_text const& details) {
  watched_place const& at = places_[place];
  bool const is_stalled = trouble == watch_trouble::stalled;
  std::size_t const others = is_watched_ ? 2 : 3;
  std::size_t const most_lines = policy_.lines < others ? 0 : policy_.lines - others;
  watch_alarm found{trouble, place, at.name, at.type, at.where, tensor, step_, range, {}};
  found.text = joined_text(
      {"Detected ",
       is_stalled                           ? "stalled tensor"
       : trouble == watch_trouble::overflow ? "overflow"
                                            : "inf/nan",
       " during batch_number=", step_, "\n", frames_.text(places_, most_lines), at.name.c_str(),
       " (", at.where.text().c_str(), "): ", is_stalled ? "" : tensor.c_str(),
       is_stalled ? "" : ": ", details,
       is_watched_ ? error_text() : watch_unseen(trouble, step_, policy_.every, frames_.step())});
  if (!first_) first_ = found;
  if (!is_reported_) return;
  if (policy_.call_back) return policy_.call_back(found);
  has_alarmed_ = has_begun_;
  raise<watch_error>(found);
}

#endif

}  // namespace lowp::detail::inline LOWP_SHARED
