// SPDX-License-Identifier: Apache-2.0
// Weights as an overflow_watch remembers them between the frames that read them.
#pragma once

#include <lowp/watch/frames.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace lowp::detail::inline LOWP_UNIT {

/// A weight or its gradient, as last read.
struct watch_weight {
  abs_range range;
  std::uint64_t step = 0;
  std::uint64_t rest = 0;  ///< number of further frames that may show this reading
  bool is_known = false;
};

/// The magnitude, as bits, from which every frame reads a weight: a 64th of the overflow of `To`.
template <census_target To>
inline constexpr std::uint32_t watch_margin = borders_of<To>.overflow - (6u << 23);

/// The weights of all places and their gradients, by the number of their name in the place.
class watch_weights {
 public:
  explicit watch_weights(std::uint64_t every) : every_(every) {}

  watch_weight& at(std::size_t place, watch_pass pass, std::uint32_t number) {
    std::size_t const row = 2 * place + (pass == watch_pass::backward ? 1 : 0);
    if (row >= of_.size()) of_.resize(row + 1);
    if (number >= of_[row].size()) of_[row].resize(number + 1);
    return of_[row][number];
  }

  /// Stores a reading. Weights are read in turns, so that each step reads about as many.
  void remember(watch_weight& weight, abs_range const& range, std::uint64_t step) {
    std::uint64_t const rest = weight.is_known ? every_ - 1 : known_++ % every_;
    weight = {range, step, rest, true};
  }

  /// Returns the number of a weight. A new name gets the next number.
  static std::uint32_t number_of(watched_place& place, std::string_view name) {
    auto const at = std::ranges::find(place.weights, name);
    auto const number = static_cast<std::uint32_t>(at - place.weights.begin());
    if (at == place.weights.end()) place.weights.emplace_back(name);
    return number;
  }

 private:
  std::uint64_t every_, known_ = 0;
  std::vector<std::vector<watch_weight>> of_;
};

/// Returns true if a frame may show the last reading of a weight of `count` elements. An unsound
/// reading never qualifies: its largest magnitude is above the margin.
template <census_target To>
bool may_rest(watch_weight const& weight, std::size_t count) {
  return weight.rest != 0 && weight.range.count == count &&
         weight.range.max_abs.bits < watch_margin<To>;
}

}  // namespace lowp::detail::inline LOWP_UNIT
