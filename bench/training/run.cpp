// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include <lowp/cast.hpp>

#include <algorithm>
#include <bit>
#include <chrono>

namespace training {

namespace {

using stopwatch = std::chrono::steady_clock;

constexpr std::uint64_t points_of_a_curve = 8;

double seconds_since(stopwatch::time_point start) {
  return std::chrono::duration<double>(stopwatch::now() - start).count();
}

double median(std::vector<double> values) {
  auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double requested(std::vector<lowp::update_report> const& reports) {
  double sum = 0;
  for (lowp::update_report const& r : reports) sum += r.requested.value();
  return sum;
}

// The share of zeros among the second moments whose first moment is not 0.
double zero_second_of(model_state const& state, tensors<float>& first, tensors<float>& second) {
  state.read_moments(first, second);
  std::size_t lost = 0, count = 0;
  for (std::size_t t = 0; t < first.size(); ++t) {
    for (std::size_t i = 0; i < first[t].size(); ++i) lost += second[t][i] == 0 && first[t][i] != 0;
    count += first[t].size();
  }
  return static_cast<double>(lost) / static_cast<double>(count);
}

template <class Rounding>
tensors<float> in_bfloat16(tensors<float> const& weights, Rounding const& rounding) {
  tensors<float> rounded = weights;
  std::uint32_t t = 0;
  for (numbers<float>& values : rounded) {
    std::vector<lowp::bfloat16> codes(values.size());
    if constexpr (Rounding::is_stochastic)
      lowp::cast(values, codes, rounding.of_tensor(t++));
    else
      lowp::cast(values, codes, rounding);
    lowp::cast(codes, values);
  }
  return rounded;
}

}  // namespace

lowp::update_report outcome::report() const {
  lowp::update_report all;
  for (lowp::update_report const& r : reports) all += r;
  return all;
}

outcome run(task<float> const& learned, configuration const& stored, schedule const& when,
            std::uint64_t seed, tensors<float> const& initial) {
  std::vector<tensor_shape> const& shapes = learned.shapes();
  auto const state = stored.store(initial, stored.how, seed);
  tensors<float> weights = zeros<float>(shapes), gradients = weights, first = weights,
                 second = weights;
  state->read(weights);
  tensors<float> const first_weights = weights;

  outcome result;
  result.reports.resize(shapes.size());
  result.held_out.push_back(learned.held_out_loss(weights));
  std::size_t parameters = 0;
  for (tensor_shape const& shape : shapes) parameters += shape.size();
  std::vector<double> update_seconds, step_seconds;
  double asked = 0, rates = 0;
  for (std::uint64_t step = 1; step <= when.steps; ++step) {
    auto const start = stopwatch::now();
    learned.differentiate(weights, seed, step, gradients);
    auto const differentiated = stopwatch::now();
    double const rate = rate_at(step, when);
    state->step(gradients, rate, step, result.reports);
    update_seconds.push_back(seconds_since(differentiated));
    state->read(weights);
    step_seconds.push_back(seconds_since(start));
    double const now = requested(result.reports);
    result.largest_request =
        std::max(result.largest_request, (now - asked) / (rate * static_cast<double>(parameters)));
    asked = now;
    rates += rate;
    bool const is_point =
        step * points_of_a_curve / when.steps != (step - 1) * points_of_a_curve / when.steps;
    if (is_point) result.held_out.push_back(learned.held_out_loss(weights));
    if (is_point || std::has_single_bit(step))
      result.zero_second = std::max(result.zero_second, zero_second_of(*state, first, second));
  }

  result.rounded = learned.held_out_loss(in_bfloat16(weights, lowp::nearest_even{}));
  result.stochastic_rounded =
      learned.held_out_loss(in_bfloat16(weights, lowp::stochastic{.seed = seed}));

  for (std::size_t t = 0; t < shapes.size(); ++t) {
    std::size_t& moved = result.moved.emplace_back();
    for (std::size_t i = 0; i < shapes[t].size(); ++i)
      moved += weights[t][i] != first_weights[t][i];
  }
  auto const share = [&](std::size_t n) {
    return static_cast<double>(n) / static_cast<double>(parameters);
  };
  result.mean_request = asked / (rates * static_cast<double>(parameters));
  result.bytes = share(state->bytes());
  result.gradient_bytes = share(state->gradient_bytes());
  result.update_seconds = median(std::move(update_seconds));
  result.step_seconds = median(std::move(step_seconds));
  result.weights = std::move(weights);
  return result;
}

}  // namespace training
