// SPDX-License-Identifier: Apache-2.0
// Parameters in the format T, which is float or any narrow type: all that the program does with
// lowp.
#pragma once

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <lowp/lowp.hpp>
#include <vector>

#include "parameters.hpp"

/// A tensor between steps. T holds p * 2^exponent.
template <class T>
struct stored_tensor {
  int exponent;
  std::vector<T> values, initial_values;
  std::vector<float> first_moment, second_moment;

  std::size_t size() const { return values.size(); }
};

/// The largest k for which weights may grow to 32 times their initial bound before they saturate.
template <class T>
int exponent_for(tensor_shape const& shape) {
  constexpr float headroom = 32;
  float const largest = std::numeric_limits<T>::max();
  return static_cast<int>(std::floor(std::log2(largest / headroom / shape.bound)));
}

inline void multiply(std::vector<float>& values, float factor) {
  for (float& v : values) v *= factor;
}

template <class T>
class parameters_in final : public parameters {
 public:
  parameters_in(model_shape const& shape, tensors const& initial, storage const& how) : how_(how) {
    for (std::size_t t = 0; t < tensor_count; ++t) {
      stored_tensor<T>& s = stored_[t];
      s.exponent = how.is_scaled ? exponent_for<T>(shape[t]) : 0;
      std::vector<float> scaled = initial[t];
      multiply(scaled, std::ldexp(1.0f, s.exponent));
      s.values.resize(scaled.size());
      lowp::cast(scaled, s.values);
      s.initial_values = s.values;
      s.first_moment.resize(scaled.size());
      s.second_moment.resize(scaled.size());
    }
  }

  void read(tensors& weights) const override {
    for (std::size_t t = 0; t < tensor_count; ++t) {
      weights[t].resize(stored_[t].size());
      lowp::cast(stored_[t].values, weights[t]);
      multiply(weights[t], std::ldexp(1.0f, -stored_[t].exponent));
    }
  }

  lowp::update_report step(tensors const& gradients, lowp::adamw const& optimizer,
                           std::uint64_t step) override {
    lowp::update_report report;
    for (std::uint32_t t = 0; t < tensor_count; ++t) {
      stored_tensor<T>& s = stored_[t];
      lowp::update(s.values, gradients[t], s.first_moment, s.second_moment,
                   scaled(optimizer, s.exponent), step, rounding_of(t), report);
    }
    return report;
  }

  std::size_t bytes_per_parameter() const override { return sizeof(T); }

  std::size_t unchanged() const override {
    std::size_t count = 0;
    for (stored_tensor<T> const& s : stored_)
      for (std::size_t i = 0; i < s.size(); ++i)
        count += std::memcmp(&s.values[i], &s.initial_values[i], sizeof(T)) == 0;
    return count;
  }

  std::string save() const override {
    std::string state;
    visit(stored_, [&](auto const& v) {
      state.append(reinterpret_cast<char const*>(v.data()), v.size() * sizeof v[0]);
    });
    return state;
  }

  bool load(std::string_view state) override {
    std::size_t size = 0;
    visit(stored_, [&](auto const& v) { size += v.size() * sizeof v[0]; });
    if (size != state.size()) return false;
    visit(stored_, [&](auto& v) {
      std::memcpy(v.data(), state.data(), v.size() * sizeof v[0]);
      state.remove_prefix(v.size() * sizeof v[0]);
    });
    return true;
  }

 private:
  // AdamW for s = p * 2^k. Its step does not depend on the scale of g, so gradients and moments
  // stay those of p. Then p' = p - lr * (d + wd * p) becomes s' = s - (2^k lr) * d - lr * wd * s.
  // The rate grows by 2^k, and the decay shrinks by 2^k, because `update` multiplies it by the
  // rate. Powers of two round nothing. The step's numbers are, to the bit, 2^k times those of the
  // unscaled step, unless float overflows or underflows.
  static lowp::adamw scaled(lowp::adamw optimizer, int exponent) {
    optimizer.lr = std::ldexp(optimizer.lr, exponent);
    optimizer.weight_decay = std::ldexp(optimizer.weight_decay, -exponent);
    return optimizer;
  }

  // Only the parameters are narrow, so only their mode matters. `update` adds the step to the
  // stream: no two tensors or steps share random bits.
  lowp::per_slot rounding_of(std::uint32_t tensor) const {
    if (!how_.is_stochastic) return {.param = lowp::nearest_even{}};
    return {.param = lowp::stochastic{how_.seed, lowp::stream_of(tensor, 0)}};
  }

  // The vectors of a checkpoint, in the order in which it has them.
  template <class Stored, class Function>
  static void visit(Stored& stored, Function const& function) {
    for (auto& s : stored) {
      function(s.values);
      function(s.first_moment);
      function(s.second_moment);
    }
  }

  std::array<stored_tensor<T>, tensor_count> stored_;
  storage how_;
};
