// SPDX-License-Identifier: Apache-2.0
// Frames as a program fills them, of a watch at once or in a queue for a watch. Alarms of a watch,
// and the policy that handles them.
#pragma once

#include <lowp/watch/frames.hpp>

#include <stdexcept>
#if __has_include(<bits/std_function.h>)  // of libstdc++: all of <functional> takes a unit's time
#include <bits/std_function.h>
#else
#include <functional>
#endif

namespace lowp::detail::inline LOWP_SHARED {

/// Closes a frame when the caller's expression ends: a default argument lives that long. An open
/// frame may read a weight later, because all tensors of the expression still live.
struct watch_expression {
  watch_frames* frames = nullptr;  ///< those with the frame, or null
  std::uint64_t number = 0;

  ~watch_expression();
};

}  // namespace lowp::detail::inline LOWP_SHARED

namespace lowp::detail::inline LOWP_UNIT {

class watch_queue;

/// Returns the trouble of a tensor with a NaN, or whose largest magnitude overflows.
LOWP_FN constexpr watch_trouble watch_trouble_of(abs_range const& range) {
  constexpr std::uint32_t infinity = lanes::binary32_infinity;
  return range.nan != 0 || range.max_abs.bits > infinity ? watch_trouble::nan
         : range.max_abs.bits == infinity                ? watch_trouble::infinite
                                                         : watch_trouble::overflow;
}

}  // namespace lowp::detail::inline LOWP_UNIT

namespace lowp {

inline namespace LOWP_SHARED {

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
  LOWP_HOST_FN explicit watch_error(watch_alarm what_was_found)
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
  /// Receives the first trouble of each step, instead of an exception.
  std::function<void(watch_alarm const&)> call_back{};
  /// Without a call_back: true throws the first trouble of each step, false only counts. If the
  /// program never begins a step, each trouble throws.
  bool throws = true;
  /// The most lines of an alarm's text, but its last frame is whole. overflow_watch::text has all
  /// frames.
  std::size_t lines = 10;
};

}  // namespace LOWP_SHARED

inline namespace LOWP_UNIT {

/// A frame: the tensors of one run of a place. A tensor is a range, any struct of the folder
/// storage, or an abs_range from another machine. A matrix is std::span(m.data(), m.size()).
/// The frame of a cuda::overflow_watch takes ranges of device memory. A frame refers to its watch
/// only, so it may be copied. The watch reads each tensor at once and does not keep it. But it
/// reads a weight in the expression that makes the frame according to policy.weights_every.
///
///     watch.forward(fc1).weight(w).input(x).output(y);      one expression
///     auto const frame = watch.forward(fc1);                a name, while tensors arrive
///     frame.weight(w).input(x);
///
/// @throws watch_error  at the first tensor with trouble in this step, if the policy throws; at
///                      each one if no step ever began
template <class Watch>
class watched_frame {
 public:
  watched_frame weight(auto&& values, detail::watch_expression&& caller = {}) const {
    return see(watch_role::weight, "weight", values, std::move(caller));
  }
  watched_frame weight(std::string_view name, auto&& values,
                       detail::watch_expression&& caller = {}) const {
    return see(watch_role::weight, name, values, std::move(caller));
  }
  /// Takes x; in a backward frame the gradient with respect to x.
  watched_frame input(auto&& values) const { return see(watch_role::input, {}, values); }
  /// Takes y; in a backward frame the gradient with respect to y.
  watched_frame output(auto&& values) const { return see(watch_role::output, {}, values); }

 private:
  friend Watch;
  friend detail::watch_queue;
  watched_frame(Watch* watch, std::uint64_t number) : watch_(watch), number_(number) {}

  watched_frame see(watch_role role, std::string_view name, auto& values,
                    detail::watch_expression&& caller = {}) const {
    if (watch_ != nullptr) watch_->see(number_, role, name, values, caller);
    return *this;
  }

  Watch* watch_;  ///< null if the step is not watched
  std::uint64_t number_;
};

}  // namespace LOWP_UNIT

}  // namespace lowp
