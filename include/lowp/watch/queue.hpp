// SPDX-License-Identifier: Apache-2.0
// Frames whose tensors are read elsewhere, in the order that an overflow_watch needs.
#pragma once

#include <lowp/watch/frames.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lowp::detail {

inline namespace LOWP_UNIT {

class watch_queue {
 public:
  /// Returns the number of tensors since `tell`.
  [[nodiscard]] std::size_t size() const { return tensors_.size(); }
  /// Begins a frame. Returns its number.
  std::size_t begin(std::size_t place, watch_pass pass) {
    frames_.push_back({place, pass});
    return frames_.size() - 1;
  }
  void add(std::size_t frame, watch_role role, std::string_view name) {
    tensors_.push_back({frame, role, std::string(name)});
  }

  /// Passes all frames, with these ranges of their tensors, to `watch`. Forgets them even if it
  /// throws.
  template <class Watch>
  void tell(Watch& watch, std::span<abs_range const> ranges) {
    auto const frames = std::exchange(frames_, {});
    auto const tensors = std::exchange(tensors_, {});
    std::vector<std::size_t> order(tensors.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t k) { return tensors[k].frame; });
    auto next = order.begin();
    for (std::size_t i = 0; i < frames.size(); ++i) {
      auto const frame = frames[i].pass == watch_pass::forward ? watch.forward(frames[i].place)
                                                               : watch.backward(frames[i].place);
      for (; next != order.end() && tensors[*next].frame == i; ++next) {
        told const& each = tensors[*next];
        if (each.role == watch_role::weight)
          frame.weight(each.name, ranges[*next]);
        else if (each.role == watch_role::input)
          frame.input(ranges[*next]);
        else
          frame.output(ranges[*next]);
      }
    }
  }

 private:
  struct begun {
    std::size_t place;
    watch_pass pass;
  };
  struct told {
    std::size_t frame;
    watch_role role;
    std::string name;  ///< the weight's name
  };
  std::vector<begun> frames_;
  std::vector<told> tensors_;
};

}  // namespace LOWP_UNIT

}  // namespace lowp::detail
