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
#include <lowp/watch/watch_state.hpp>

namespace lowp::inline LOWP_UNIT {

/// Watches for values beyond `To`, the present or the later type of the tensors.
///
/// Not thread-safe: give each thread its own watch, or lock. Without trouble it allocates nothing
/// once it has seen every place in policy.frames frames.
///
/// @tparam To     float finds only infinities and NaN
/// @tparam Where  simd::this_thread, or a team: openmp::overflow_watch
template <census_target To = float, class Where = simd::this_thread>
class overflow_watch : public detail::watch_state {
 public:
  using frame = watched_frame<overflow_watch>;

  /// @throws std::invalid_argument  policy.frames, .every or .weights_every is 0
  explicit overflow_watch(watch_policy policy = {})
      : watch_state(std::move(policy), float{std::numeric_limits<To>::max()},
                    detail::borders_of<To>.overflow) {}

  /// Begins a frame. Pass it the place's tensors, in any order, once the place has finished.
  /// @param caller  never given: it notes where the expression ends
  /// @throws std::invalid_argument  no place has that number
  frame forward(std::size_t place, detail::watch_expression&& caller = {}) {
    return frame(is_watched() ? this : nullptr, begin(place, watch_pass::forward, caller));
  }
  /// Begins a frame of the place's gradients.
  frame backward(std::size_t place, detail::watch_expression&& caller = {}) {
    return frame(is_watched() ? this : nullptr, begin(place, watch_pass::backward, caller));
  }

 private:
  friend frame;

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

  template <class T>
  void see(std::uint64_t frame_number, watch_role role, std::string_view name, T& values,
           detail::watch_expression& caller) {
    if (role != watch_role::weight) {
      detail::watch_frame& current = frame_of(frame_number);
      return add(current, role, range_of(values));
    }
    shown_weight const weight = weight_of(frame_number, name);
    if constexpr (readable<T>) {
      if (weight.may_wait &&
          detail::may_rest<To>(weight.known, detail::read("weight", values).size())) {
        auto const read = [](void const* later) {
          return range_of(*static_cast<T*>(const_cast<void*>(later)));
        };
        return wait(weight, read, __builtin_addressof(values), caller);
      }
    }
    add(weight, range_of(values));
  }
};

}  // namespace lowp::inline LOWP_UNIT
