// SPDX-License-Identifier: Apache-2.0
// Advises how to keep a parameter, from its values and the size of its updates.
#pragma once

#include <lowp/base/environment.hpp>
#include <lowp/ops/cast.hpp>
#include <lowp/storage/scale.hpp>
#include <lowp/train/least_update.hpp>
#include <lowp/train/optimizer.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace lowp {

/// The request of a step to every element: to go up or down by lr * direction.
struct typical_update {
  double lr;
  double direction = 1;  ///< |update| / lr: about 1 for Adam and its kin, a typical |g| for SGD
  std::uint64_t steps = 1000;  ///< steps of training at that rate
  double tolerance = 0.01;     ///< share of elements that may be left behind
  int least_bytes = 2;         ///< least size of the choice: stalls do not show how coarse fp8 is
};

/// A batch of another size, or gradients accumulated over several.
struct batch_change {
  double factor;     ///< new size / old size
  double noise = 1;  ///< part of the mean square of a gradient that is noise: 1 late in training
  /// The rate is scaled by factor^lr_exponent: 0 leaves it, 1/2 suits Adam, 1 suits SGD.
  double lr_exponent = 0;
  bool is_normalized = false;  ///< for Adam and its kin: the direction does not follow |g|
};

/// The stalls of one way to keep a tensor, over all its finite elements, up and down.
struct stall_estimate {
  double stalled = 0;  ///< share that one step leaves unchanged; expected share if stochastic
  double lost = 0;     ///< share whose updates leave no trace, under any random numbers
  double rare = 0;     ///< share that fewer than 10 of all the steps are expected to change
  double lr_any = 0;   ///< smallest rate at which not all is lost
  double lr_half = 0;  ///< smallest rate at which half is not lost (rounded up to 8 bits)
  double lr_all = 0;   ///< smallest rate at which nothing is lost; else infinite
};

struct storage_advice {
  std::uint64_t count = 0;      ///< elements
  std::uint64_t nonfinite = 0;  ///< infinite or NaN elements, which are in no share
  std::array<stall_estimate, kept_ways.size()> estimates{};
  /// The smallest way whose `rare` is tolerated (of equal ones the first of kept_as), else fp32.
  kept_as choice = kept_as::fp32;

  LOWP_HOST_FN stall_estimate const& operator[](kept_as way) const {
    return estimates[static_cast<std::size_t>(way)];
  }
};

namespace detail::inline LOWP_UNIT {

LOWP_EXACT_BEGIN

/// Counts the smallest updates that leave a trace, by their bit patterns.
class threshold_counts {
 public:
  void add(float threshold, float u) {
    std::uint32_t const bits = lanes::bits(threshold);
    least_ = std::min(least_, bits);
    most_ = std::max(most_, bits);
    above_ += bits > lanes::bits(u) ? 1u : 0u;
    ++count_;
    ++bins_[bits >> dropped];
  }
  /// Adds an element of a stochastic way: a step changes it for `draws` of 65536 random numbers.
  void add_draws(float draws, double steps) {
    auto const wide = static_cast<double>(draws);
    draws_ += wide;
    rare_ += steps * wide < 10 * 65536 ? 1 : 0;
  }

  [[nodiscard]] stall_estimate estimate(double direction, bool is_stochastic) const {
    if (count_ == 0) return {};
    auto const n = static_cast<double>(count_);
    double const lost = static_cast<double>(above_) / n;
    return {.stalled = is_stochastic ? 1 - draws_ / (65536 * n) : lost,
            .lost = lost,
            .rare = is_stochastic ? static_cast<double>(rare_) / n : lost,
            .lr_any = rate(least_, direction),
            .lr_half = rate(std::clamp(median(), least_, most_), direction),
            .lr_all = rate(most_, direction)};
  }

 private:
  static constexpr int dropped = 16;

  static double rate(std::uint32_t bits, double direction) {
    auto const u = static_cast<double>(lanes::from_bits<float>(bits));
    return bits == lanes::binary32_infinity ? u : u / direction;
  }
  [[nodiscard]] std::uint32_t median() const {
    std::uint64_t below = 0;
    std::uint32_t bin = 0;
    while (2 * (below += bins_[bin]) < count_) ++bin;
    return (bin + 1) << dropped;
  }

  std::uint64_t count_ = 0, above_ = 0, rare_ = 0;
  std::uint32_t least_ = lanes::binary32_infinity, most_ = 0;
  double draws_ = 0;
  std::vector<std::uint64_t> bins_ =
      std::vector<std::uint64_t>((lanes::binary32_infinity >> dropped) + 1);
};

/// Counts the thresholds of finite floats, for one way to keep them.
template <kept_as Way>
void count_thresholds(std::span<float const> p, float u, double steps, float scale,
                      std::span<float> least, threshold_counts& counts) {
  for (toward const direction : {toward::plus_infinity, toward::minus_infinity}) {
    least_updates<Way>(p, direction, least, scale);
    for (float const each : least) counts.add(each, u);
    if constexpr (facts_of(Way).is_stochastic) {
      auto layout = layout_of_way<Way>(scale);
      float const update = direction == toward::plus_infinity ? u : -u;
      transform(draws_that_move<decltype(layout)>{layout, update}, nearest_even{}, least, p);
      for (float const each : least) counts.add_draws(each, steps);
    }
  }
}

LOWP_EXACT_END

/// Calls fn(a piece of p as floats, without those not finite) for all of p.
template <class P, class Fn>
void for_each_piece(P const& p, std::span<float> buffer, Fn&& fn) {
  std::span<element_of<P> const> const all(p);
  for (std::size_t first = 0; first < all.size(); first += buffer.size()) {
    std::size_t const count = std::min(buffer.size(), all.size() - first);
    cast(all.subspan(first, count), buffer.first(count));
    auto const end =
        std::remove_if(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(count),
                       [](float each) { return !lanes::is_finite(each); });
    fn(std::span<float const>(buffer.begin(), end));
  }
}

LOWP_OPAQUE storage_advice advice_on(auto const& p, typical_update const& step) {
  constexpr std::size_t piece = 4096;
  std::vector<float> values(piece), least(piece);
  storage_advice result;
  result.count = std::ranges::size(p);

  amax largest;
  std::uint64_t finite = 0;
  for_each_piece(p, values, [&](std::span<float const> some) {
    finite += some.size();
    for (float const each : some) largest += amax{lanes::magnitude(each)};
  });
  result.nonfinite = result.count - finite;
  float const scale = power_of_two_scale<float8_e4m3fn>(largest);
  float const u = lane<float>::narrowed(step.lr * step.direction);

  std::vector<threshold_counts> counts(kept_ways.size());
  [&]<std::size_t... Way>(std::index_sequence<Way...>) {
    for_each_piece(p, values, [&](std::span<float const> some) {
      (count_thresholds<static_cast<kept_as>(Way)>(some, u, static_cast<double>(step.steps), scale,
                                                   std::span(least).first(some.size()),
                                                   counts[Way]),
       ...);
    });
  }(std::make_index_sequence<kept_ways.size()>{});
  for (std::size_t i = kept_ways.size(); i-- > 0;) {
    stall_estimate& its = result.estimates[i];
    its = counts[i].estimate(step.direction, kept_ways[i].is_stochastic);
    if (kept_ways[i].bytes >= step.least_bytes && its.rare <= step.tolerance)
      result.choice = static_cast<kept_as>(i);
  }
  return result;
}

LOWP_EXACT_BEGIN

template <class T>
LOWP_OPAQUE double share_of_stalled(std::span<T const> v, double beta2) {
  float const beta = lane<float>::narrowed(beta2);
  std::uint64_t count = 0, stalled = 0;
  for (T const each : v) {
    float const x = static_cast<float>(each);
    if (!lanes::is_finite(x) || lanes::magnitude(x) == 0) continue;
    T const kept = convert<T>(lanes::mul(beta, x));
    ++count;
    stalled += lanes::bits(static_cast<float>(kept)) == lanes::bits(x) ? 1u : 0u;
  }
  return count == 0 ? 0 : static_cast<double>(stalled) / static_cast<double>(count);
}

LOWP_OPAQUE inline typical_update changed_update(typical_update const& step,
                                                 batch_change const& change) {
  typical_update result = step;
  result.lr = step.lr * std::pow(change.factor, change.lr_exponent);
  if (!change.is_normalized)
    result.direction = step.direction * std::sqrt(1 - change.noise + change.noise / change.factor);
  double const steps = static_cast<double>(step.steps) / change.factor;
  result.steps = steps < 1        ? 1
                 : steps < 0x1p64 ? static_cast<std::uint64_t>(steps)
                                  : std::numeric_limits<std::uint64_t>::max();
  return result;
}

LOWP_EXACT_END

}  // namespace detail::inline LOWP_UNIT

namespace functions {

/// Returns the effects of such updates on the elements of p under each kept_as. They are exact for
/// each element, up and down, with p itself as the kept float or narrow value. For kahan the
/// compensation is the part of p beyond bfloat16. For fp8 the scale is power_of_two_scale of p.
///
/// @param p     n elements: weights before a step, best as floats if there are any
/// @param step  lr, direction and tolerance above 0
/// @throws std::invalid_argument  a number in `step` is not finite and above 0
template <input P>
LOWP_HOST_FN storage_advice stall_advice(P&& p, typical_update const& step) {
  using detail::above_zero;
  detail::refuse_if(
      detail::check_numbers("stall_advice: ", {{"lr", step.lr, above_zero},
                                               {"direction", step.direction, above_zero},
                                               {"tolerance", step.tolerance, above_zero}}));
  detail::default_environment const environment;
  return detail::advice_on(p, step);
}

/// Returns the updates of a batch of another size, for stall_advice. It models a gradient as a
/// mean, which stays, and a noise, whose standard deviation is divided by sqrt(factor). So |g| is
/// multiplied by sqrt(1 - noise + noise / factor). A pass over the same data takes fewer steps.
/// @throws std::invalid_argument  a number in `change` is not finite, factor is not above 0, or
///                                noise is not in [0, 1]
LOWP_HOST_FN typical_update update_of_batch(typical_update const& step,
                                            batch_change const& change) {
  detail::refuse_if(detail::check_numbers(
      "update_of_batch: ", {{"factor", change.factor, detail::above_zero},
                            {"noise", change.noise},
                            {"lr_exponent", change.lr_exponent, detail::any_number}}));
  if (change.noise > 1)
    detail::refuse_if("update_of_batch: noise is " + detail::text_of(change.noise) +
                      ", not in [0, 1]");
  detail::default_environment const environment;
  return detail::changed_update(step, change);
}

/// Returns the share of the elements of a second moment that cannot decay. Rounded to nearest,
/// beta2 * v is v again, so that no sequence of zero gradients lowers it. For beta2 = 0.999 this is
/// every normal bfloat16. Zeros, infinities and NaN are not counted; 0 without others.
/// @throws std::invalid_argument  beta2 is not in [0, 1)
template <input V>
LOWP_HOST_FN double stalled_decay(V&& v, double beta2) {
  detail::refuse_if(
      detail::check_numbers("stalled_decay: ", {{"beta2", beta2, detail::below_one}}));
  detail::default_environment const environment;
  return detail::share_of_stalled(std::span<element_of<V> const>(v), beta2);
}

}  // namespace functions

}  // namespace lowp
