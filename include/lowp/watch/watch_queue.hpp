// SPDX-License-Identifier: Apache-2.0
// Frames that wait until another processor has read their tensors.
#pragma once

#include <lowp/watch/watched_frame.hpp>

namespace lowp::detail::inline LOWP_UNIT {

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
