// SPDX-License-Identifier: Apache-2.0
// Alarms of an overflow_watch, and the policy that handles them.
#pragma once

#include <lowp/watch/frames.hpp>

#include <functional>
#include <stdexcept>

namespace lowp {

enum class watch_trouble { nan, infinite, overflow, stalled };

inline namespace LOWP_UNIT {

/// A finding of an overflow_watch, with the report of its causes.
struct watch_alarm {
  watch_trouble trouble;
  std::size_t place;       ///< the place's number
  std::string name, type;  ///< the place's name and type
  source_place where;      ///< source line that named the place
  std::string tensor;      ///< "input[0]", "weight", "output" or "update"
  std::uint64_t step;
  abs_range range;   ///< the tensor's range; an update sets nan and max_abs, a stall nothing
  std::string text;  ///< the report, for people: see watch_policy::lines
};

class watch_error : public std::runtime_error {
 public:
  explicit watch_error(watch_alarm what_was_found)
      : std::runtime_error(what_was_found.text), alarm(std::move(what_was_found)) {}
  watch_alarm alarm;
};

struct watch_policy {
  std::size_t frames = 21;  ///< number of latest frames that a watch keeps
  /// Watches only steps whose number is a multiple of it. In other steps a watch sees updates only.
  std::uint64_t every = 1;
  /// The period, in frames of a place, between two readings of a weight or of its gradient. It
  /// applies in the expression that makes a frame. Between readings a report gives the step of its
  /// numbers. A watch reads a weight at once if it is new, or precedes a tensor with trouble there.
  /// It also does if the last reading was not sound, or within 2^6 of overflow.
  ///
  /// So a report names a weight that is not finite in the frame whose output shows it. A sum in a
  /// gradient that overflows shows in no other tensor. overflow_watch::update finds it; without
  /// that call the updated weight shows it one step later.
  ///
  /// 1 reads every weight in every frame, which costs much in a step of few examples.
  std::uint64_t weights_every = 16;
  /// Steps that the watch records instead of judges, as trace_batch_nums of Hugging Face.
  std::vector<std::uint64_t> traced{};
  /// Receives the first trouble of each step, instead of an exception.
  std::function<void(watch_alarm const&)> call_back{};
  /// Without a call_back: true throws the first trouble of each step, false only counts. If the
  /// program never begins a step, each trouble throws.
  bool throws = true;
  /// The most lines of an alarm's text, but its last frame is whole. overflow_watch::text has all
  /// frames.
  std::size_t lines = 10;
};

}  // namespace LOWP_UNIT

namespace detail::inline LOWP_UNIT {

/// Returns the trouble of a tensor with a NaN, or whose largest magnitude overflows.
LOWP_FN constexpr watch_trouble watch_trouble_of(abs_range const& range) {
  constexpr std::uint32_t infinity = lanes::binary32_infinity;
  return range.nan != 0 || range.max_abs.bits > infinity ? watch_trouble::nan
         : range.max_abs.bits == infinity                ? watch_trouble::infinite
                                                         : watch_trouble::overflow;
}

/// Returns the last line of a report in a step without frames. The first update that is not finite
/// may be that of an innocent layer: an infinity elsewhere makes all gradients NaN.
/// @param observed  the step of the last frame
inline std::string watch_unseen(watch_trouble trouble, std::uint64_t step, std::uint64_t every,
                                std::optional<std::uint64_t> const& observed) {
  std::string text =
      joined_text({"\nbatch_number=", step, " was not watched (policy.every = ", every, "), and "});
  text += observed
              ? joined_text({"the frames above are of batch_number=", *observed, " and before"})
              : "no frame was seen before it";
  if (trouble == watch_trouble::stalled) return text;
  return text.append("; this is the first update found ")
      .append(trouble == watch_trouble::overflow ? "to overflow" : "not finite")
      .append(", not necessarily where it began: watch each step, or trace this one ")
      .append("(policy.traced), to see");
}

}  // namespace detail::inline LOWP_UNIT

}  // namespace lowp
