// SPDX-License-Identifier: Apache-2.0
// What an overflow_watch finds, and what it is to do then.
#pragma once

#include <lowp/base/source_place.hpp>
#include <lowp/measure/census/abs_range_report.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lowp {

/// What was found.
enum class watch_trouble { nan, infinite, overflow, stalled };

inline namespace LOWP_UNIT {

/// Something that was found, and what led to it.
struct watch_alarm {
  watch_trouble trouble;
  std::size_t place;       ///< its number
  std::string name, type;  ///< of the place
  source_place where;      ///< where it was named
  std::string tensor;      ///< "input[0]", "weight", "output"; "update"
  std::uint64_t step;
  abs_range range;   ///< of the tensor; of an update at most max_abs, of stalled ones nothing
  std::string text;  ///< the whole report, for people
};

/// How an overflow_watch throws.
class watch_error : public std::runtime_error {
 public:
  explicit watch_error(watch_alarm what_was_found)
      : std::runtime_error(what_was_found.text), alarm(std::move(what_was_found)) {}
  watch_alarm alarm;
};

struct watch_policy {
  std::size_t frames = 21;  ///< how many of the last ones a report shows
  /// Steps whose number is no multiple of it are not watched: there a watch hears of updates alone.
  std::uint64_t every = 1;
  /// A weight, or the gradient of one, that is told of in the expression which makes a frame, is read in
  /// every so many frames of its place; in between a report says of which step its numbers are. It is read
  /// at once where it is new, was not sound, or was within 2^6 of overflowing, and when a later tensor of
  /// its frame has trouble. So a weight that is not finite is named in the frame whose output shows it;
  /// what no other tensor shows, such as a sum in a gradient that overflows, is found by its update
  /// (`update` of an overflow_watch), else as the weight that it has made, one step later.
  ///
  /// 1 reads all of them always, which is no small part of a step of few examples (bench/watch.cpp).
  std::uint64_t weights_every = 16;
  /// Steps of which everything is written down instead of judged, as Hugging Face's trace_batch_nums.
  std::vector<std::uint64_t> traced{};
  /// Told of the first trouble of each step, instead of an exception.
  std::function<void(watch_alarm const&)> call_back{};
  /// Without a call_back: whether the first trouble of each step is thrown, or all is only counted. Where
  /// the program says of no step that it begins, each is thrown.
  bool throws = true;
};

}  // namespace LOWP_UNIT

namespace detail {
/// What is wrong with a tensor whose largest magnitude overflows.
LOWP_FN constexpr watch_trouble watch_trouble_of(amax const& largest) {
  return largest.bits > lanes::binary32_infinity    ? watch_trouble::nan
         : largest.bits == lanes::binary32_infinity ? watch_trouble::infinite
                                                    : watch_trouble::overflow;
}

inline namespace LOWP_UNIT {

/// The last line of a report in a step without frames. A layer that did nothing wrong may have the first
/// update that is not finite: an infinity in another makes the loss NaN, and so the gradients of all.
/// @param seen  the step of the last frame
inline std::string watch_unseen(watch_trouble trouble, std::uint64_t step, std::uint64_t every,
                                std::optional<std::uint64_t> const& observed) {
  std::string text =
      "\nbatch_number=" + std::to_string(step) +
      " was not watched (policy.every = " + std::to_string(every) + "), and " +
      (observed
           ? "the frames above are of batch_number=" + std::to_string(*observed) + " and before"
           : "no frame was seen before it");
  if (trouble == watch_trouble::stalled) return text;
  return text.append("; this is the first update found ")
      .append(trouble == watch_trouble::overflow ? "to overflow" : "not finite")
      .append(", not necessarily where it began: watch each step, or trace this one ")
      .append("(policy.traced), to see");
}

}  // namespace LOWP_UNIT

}  // namespace detail

}  // namespace lowp
