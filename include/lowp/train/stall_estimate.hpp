// SPDX-License-Identifier: Apache-2.0
// The updates that stall under one way to keep a parameter.
#pragma once

#include <lowp/train/least_update.hpp>
#include <lowp/train/typical_update.hpp>

namespace lowp {

/// The stalls of one way to keep a tensor, over all its finite elements, up and down.
struct stall_estimate {
  double stalled = 0;  ///< share of elements that a step leaves unchanged; expected if stochastic
  double lost = 0;     ///< share whose updates leave no trace, under any random numbers
  /// Share that is left behind. Stochastic: elements that fewer than 10 of all the steps are
  /// expected to change. Else: of the sum of |update|, the part whose updates leave no trace.
  double rare = 0;
  double lr_any = 0;   ///< smallest rate at which not all is lost
  double lr_half = 0;  ///< smallest rate at which half is not lost (rounded up to 8 bits)
  double lr_all = 0;   ///< smallest rate at which nothing is lost; else infinite
};

#if !defined(LOWP_COMPILED)  // run_compiled has it

namespace detail::inline LOWP_UNIT {

LOWP_EXACT_BEGIN

/// The requests of a typical update. Element `index` has one of the sizes, all equally often.
class request_sizes {
 public:
  struct request {
    double share, direction;
    float update;
  };

  explicit request_sizes(typical_update const& step) {
    double sum = 0;
    for (float const each : step.spread.empty() ? normal_spread() : step.spread) {
      double const share = as_double(each), direction = step.direction * share;
      sum += share;
      requests_.push_back({share, direction, narrowed(step.lr * direction)});
    }
    mean_ = narrowed(step.lr * step.direction * sum / static_cast<double>(requests_.size()));
  }
  [[nodiscard]] request const& operator[](std::uint64_t index) const {
    std::uint64_t const turn = index * 0x9E3779B9 & 0xffffffff;  // steps of the golden ratio
    return requests_[static_cast<std::size_t>(turn * requests_.size() >> 32)];
  }
  [[nodiscard]] float mean() const { return mean_; }
  /// Returns how often n elements are counted, so that all sizes occur among few elements.
  [[nodiscard]] std::uint64_t turns(std::uint64_t n) const {
    return requests_.size() == 1 || n == 0 ? 1 : 1 + 1023 / n;
  }

 private:
  std::vector<request> requests_;
  float mean_;
};

/// Counts the smallest updates that leave a trace, beside those requested.
class threshold_counts {
 public:
  void add(float threshold, request_sizes::request const& asked) {
    ++count_;
    if (!(asked.direction > 0)) return;
    std::uint32_t const bits = lanes::bits(threshold);
    double const rate = bits == lanes::binary32_infinity ? std::numeric_limits<double>::infinity()
                                                         : as_double(threshold) / asked.direction;
    if (rate < least_) least_ = rate;
    if (most_ < rate) most_ = rate;
    rates_.add(lanes::bits(narrowed(rate)));
    asked_ += asked.share;
    if (bits <= lanes::bits(asked.update)) return;
    ++above_;
    lost_ += asked.share;
  }
  /// Adds an element of a stochastic way, which a step changes for `draws` of 65536 random numbers.
  void add_draws(float draws) { stays_ += 65536 - as_double(draws); }
  void add_typical_draws(float draws, double steps) {
    rare_ += steps * as_double(draws) < 10 * 65536 ? 1u : 0u;
  }

  [[nodiscard]] stall_estimate estimate(bool is_stochastic) const {
    if (rates_.count() == 0) return {};
    auto const n = static_cast<double>(count_);
    double const lost = static_cast<double>(above_) / n;
    double const half = as_double(lanes::from_bits<float>(rates_.median_end()));
    return {.stalled = is_stochastic ? stays_ / (65536 * n) : lost,
            .lost = lost,
            .rare = is_stochastic ? static_cast<double>(rare_) / n : lost_ / asked_,
            .lr_any = least_,
            .lr_half = half < least_  ? least_
                       : most_ < half ? most_
                                      : half,
            .lr_all = most_};
  }

 private:
  magnitude_bins rates_;
  std::uint64_t count_ = 0, above_ = 0, rare_ = 0;
  double least_ = std::numeric_limits<double>::infinity(), most_ = 0;
  double asked_ = 0, lost_ = 0, stays_ = 0;
};

/// Counts the thresholds of finite floats, for one way to keep them.
/// @param first  number of the first of p
template <kept_as Way>
void count_thresholds(std::span<float const> p, request_sizes const& sizes, std::uint64_t first,
                      double steps, float scale, threshold_counts& counts) {
  std::vector<float> least(p.size()), u(p.size());
  for (toward const direction : {toward::plus_infinity, toward::minus_infinity}) {
    bool const is_up = direction == toward::plus_infinity;
    auto const asked = [&](std::size_t place) -> auto& {
      return sizes[2 * (first + place) + (is_up ? 1 : 0)];
    };
    least_updates<Way>(p, direction, least, scale);
    for (std::size_t i = 0; i < p.size(); ++i) counts.add(least[i], asked(i));
    if constexpr (facts_of(Way).is_stochastic) {
      auto layout = layout_of_way<Way>(scale);
      auto const draw = [&](auto const& update) {
        for (std::size_t place = 0; place < p.size(); ++place)
          u[place] = is_up ? update(place) : -update(place);
        transform(draws_that_move<decltype(layout)>{layout}, nearest_even{}, least, p, u);
      };
      draw([&](std::size_t place) { return asked(place).update; });
      for (std::size_t i = 0; i < p.size(); ++i)
        if (asked(i).direction > 0) counts.add_draws(least[i]);
      draw([&](std::size_t) { return sizes.mean(); });
      for (float const each : least) counts.add_typical_draws(each, steps);
    }
  }
}

LOWP_EXACT_END

}  // namespace detail::inline LOWP_UNIT

#endif

}  // namespace lowp
