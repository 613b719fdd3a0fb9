// SPDX-License-Identifier: Apache-2.0
// What an overflow_watch knows of a place's weights between the frames in which it reads them.
#pragma once

#include <lowp/watch/frames.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace lowp::detail {

inline namespace LOWP_UNIT {

/// A weight, or its gradient, as it was when it was last read.
struct watch_weight {
  abs_range range;
  std::uint64_t step = 0;
  std::uint64_t rest = 0;  ///< so many more frames may show it as it was
  bool is_known = false;
};

/// The magnitude from which on a tensor is read in every frame, as bits: a 64th of what overflows `To`.
template <census_target To>
inline constexpr std::uint32_t watch_margin = borders_of<To>.overflow - (6u << 23);

/// The weights of all places, by their numbers among the names of a place, and their gradients.
class watch_weights {
 public:
  explicit watch_weights(std::uint64_t every) : every_(every) {}

  watch_weight& at(std::size_t place, watch_pass pass, std::uint32_t number) {
    std::size_t const row = 2 * place + (pass == watch_pass::backward ? 1 : 0);
    if (row >= of_.size()) of_.resize(row + 1);
    if (number >= of_[row].size()) of_[row].resize(number + 1);
    return of_[row][number];
  }

  /// Weights are read in turns, so that each step reads about as many.
  void remember(watch_weight& weight, abs_range const& range, std::uint64_t step) {
    std::uint64_t const rest = weight.is_known ? every_ - 1 : known_++ % every_;
    weight = {range, step, rest, true};
  }

  /// The number of a weight, which gets one when it is first told of.
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

/// Whether a weight of `count` elements may be shown as it was.
template <census_target To>
bool may_rest(watch_weight const& weight, std::size_t count) {
  return weight.rest != 0 && weight.range.count == count && weight.range.is_sound() &&
         weight.range.max_abs.bits < watch_margin<To>;
}

}  // namespace LOWP_UNIT

}  // namespace lowp::detail
