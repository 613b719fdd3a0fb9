// SPDX-License-Identifier: Apache-2.0
// Frames as a program fills them: of a watch at once, or in a queue for a watch.
#pragma once

#include <lowp/watch/frames.hpp>

#include <memory>

namespace lowp::detail::inline LOWP_UNIT {

struct watch_closes {
  std::uint64_t number = 0;
  void operator()(watch_frames* frames) const {
    if (watch_frame* const frame = frames->find(number)) frame->is_open = false;
  }
};
/// Closes a frame when the caller's expression ends: a default argument lives that long. An open
/// frame may read a weight later, because all tensors of the expression still live.
using watch_expression = std::unique_ptr<watch_frames, watch_closes>;

/// Frames whose tensors another processor reads, in the order that a watch needs.
class watch_queue {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  std::size_t begin(std::size_t place, watch_pass pass) {
    frames_.push_back({place, pass, {}});
    return frames_.size() - 1;
  }
  void add(std::size_t frame_number, watch_role role, std::string_view name) {
    frames_[frame_number].tensors.push_back({role, std::string(name), size_++});
  }

  /// Passes all frames, with their tensors' ranges, to `watch`. Forgets them even if it throws.
  void pass_to(auto& watch, std::span<abs_range const> ranges) {
    size_ = 0;
    for (auto const& [place, pass, tensors] : std::exchange(frames_, {})) {
      auto const current =
          pass == watch_pass::forward ? watch.forward(place) : watch.backward(place);
      for (auto const& [role, name, index] : tensors) current.see(role, name, ranges[index]);
    }
  }

 private:
  struct tensor {
    watch_role role;
    std::string name;   ///< the weight's name
    std::size_t index;  ///< of its range
  };
  struct frame {
    std::size_t place;
    watch_pass pass;
    std::vector<tensor> tensors;
  };
  std::vector<frame> frames_;
  std::size_t size_ = 0;
};

}  // namespace lowp::detail::inline LOWP_UNIT

namespace lowp::inline LOWP_UNIT {

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

}  // namespace lowp::inline LOWP_UNIT
