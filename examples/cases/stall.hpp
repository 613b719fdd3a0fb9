// SPDX-License-Identifier: Apache-2.0
// Fine-tuning bfloat16 weights that are distributed as those of a diffusion model are, at two
// learning rates: which updates arrive.
#pragma once

#include <lowp/advice.hpp>
#include <lowp/cast.hpp>
#include <lowp/measure.hpp>
#include <lowp/update.hpp>
#include <lowp/value.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace cases {

inline constexpr double median_magnitude = 0.0129;
inline constexpr std::size_t stall_weights = 1 << 17;
inline constexpr std::uint64_t stall_steps = 100;
inline constexpr int least_exponent = -14;
inline constexpr std::size_t magnitude_classes = 10;

struct stall_run {
  std::string_view rounding;
  double rate;
  double moved;    ///< share of weights that are not what they were
  double stalled;  ///< share of updates that left no trace
  double applied;  ///< applied ratio
  /// Share of the wanted way that weights of each class of magnitude have gone. Class `place` has
  /// those from 2^(least_exponent + place) to twice that; the first class has all smaller ones too,
  /// the last all larger ones.
  std::array<double, magnitude_classes> by_magnitude;
};

/// A second moment of 1 whose gradients have become 10 times smaller.
struct moment_run {
  std::string_view rounding;
  double stalled;  ///< share of the elements that should have changed in a step and did not
  double bias;     ///< relative, that rounding adds in a step
  double mean;     ///< of v, after all steps
};

struct stall {
  double median;    ///< of the weights' magnitudes, in bfloat16
  double half_gap;  ///< the least update that moves the median weight
  std::vector<stall_run> runs;
  std::vector<moment_run> moments;
  double exact_moment;   ///< v after all steps, if nothing is rounded
  double rate_for_half;  ///< the rate from which nearest moves half of them: lowp::stall_advice
};

/// Nearly normal with mean 0: sums of 12 uniform numbers, which need no library whose last bits
/// depend on the machine. Scaled so that half of the magnitudes lie below `median`.
inline std::vector<float> weights_around_zero(std::size_t count, double median) {
  std::vector<double> x(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::uint32_t block = 0; block < 3; ++block)
      for (std::uint32_t const word :
           lowp::philox4x32({static_cast<std::uint32_t>(i), block, 0, 0}, {1, 0}))
        x[i] += word * 0x1p-32;
    x[i] -= 6;
  }
  std::vector<double> magnitudes(count);
  std::transform(x.begin(), x.end(), magnitudes.begin(), [](double v) { return std::fabs(v); });
  auto const middle = magnitudes.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(magnitudes.begin(), middle, magnitudes.end());
  std::vector<float> weights(count);
  for (std::size_t i = 0; i < count; ++i) weights[i] = static_cast<float>(x[i] / *middle * median);
  return weights;
}

inline std::size_t class_of(float x) {
  int const k = std::ilogb(x) - least_exponent;
  return static_cast<std::size_t>(std::clamp(k, 0, static_cast<int>(magnitude_classes) - 1));
}

/// Gradients that never change their mind, so that AdamW asks every weight for lr in each step.
template <class Rounding>
stall_run run_stall(std::string_view name, double rate, Rounding const& rounding,
                    std::vector<lowp::bfloat16> weights) {
  std::vector<lowp::bfloat16> const before = weights;
  std::vector<float> gradient(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) gradient[i] = i % 2 == 0 ? 1.0f : -1.0f;
  std::vector<float> m(weights.size()), v(weights.size());
  lowp::update_report report;
  for (std::uint64_t step = 1; step <= stall_steps; ++step)
    lowp::update(weights, gradient, m, v, lowp::adamw{.lr = rate, .weight_decay = 0}, step,
                 rounding, report);

  std::size_t moved = 0;
  std::array<double, magnitude_classes> arrived{}, count{};
  for (std::size_t i = 0; i < weights.size(); ++i) {
    double const distance = double{weights[i]} - double{before[i]};
    moved += distance != 0;
    arrived[class_of(before[i])] += gradient[i] > 0 ? -distance : distance;
    ++count[class_of(before[i])];
  }
  stall_run run{};
  run.rounding = name;
  run.rate = rate;
  run.moved = static_cast<double>(moved) / static_cast<double>(weights.size());
  run.stalled = static_cast<double>(report.stalled) / static_cast<double>(report.count);
  run.applied = report.applied_ratio();
  for (std::size_t k = 0; k < magnitude_classes; ++k)
    run.by_magnitude[k] = arrived[k] / (count[k] * rate * static_cast<double>(stall_steps));
  return run;
}

inline constexpr std::uint64_t moment_steps = 2000;

template <class V>
moment_run run_moment(std::string_view name, lowp::per_slot const& rounding) {
  std::vector<lowp::bfloat16> weights(1 << 12, lowp::bfloat16(1));
  std::vector<float> const gradient(weights.size(), 0.1f);
  std::vector<float> m(weights.size());
  std::vector<V> v(weights.size(), V(1));
  lowp::moment_report report;
  for (std::uint64_t step = 1; step <= moment_steps; ++step)
    lowp::update(weights, gradient, m, v, lowp::adamw{}, step, rounding, report);
  return {name, report.second.stalled_share(), report.second.bias(), lowp::mean(v)};
}

inline stall find_stall() {
  std::vector<float> values = weights_around_zero(stall_weights, median_magnitude);
  std::vector<lowp::bfloat16> weights(values.size());
  lowp::cast(values, weights);

  stall found;
  found.median = float(lowp::bfloat16(static_cast<float>(median_magnitude)));
  found.half_gap = lowp::ulp(lowp::bfloat16(static_cast<float>(median_magnitude))) / 2;
  for (double const rate : {5e-7, 1.6e-5}) {
    found.runs.push_back(run_stall("nearest", rate, lowp::nearest_even{}, weights));
    found.runs.push_back(run_stall("stochastic", rate, lowp::stochastic{.seed = 1}, weights));
  }
  found.moments = {
      run_moment<lowp::bfloat16>("nearest", {}),
      run_moment<lowp::bfloat16>("stochastic", {.second = lowp::stochastic{.seed = 1}}),
      run_moment<float>("as float", {})};
  double const kept = std::pow(lowp::adamw{}.beta2, static_cast<double>(moment_steps));
  found.exact_moment = kept + (1 - kept) * 0.01;
  found.rate_for_half =
      lowp::stall_advice(weights, {.lr = 5e-7, .direction = 1, .spread = {1}})[lowp::kept_as::bf16]
          .lr_half;
  return found;
}

}  // namespace cases
