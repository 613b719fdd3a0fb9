// SPDX-License-Identifier: Apache-2.0
// Trains one mode from initial weights to the end.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "modes.hpp"
#include "text.hpp"

struct settings {
  std::uint64_t steps = 1200;  ///< of the whole schedule
  std::uint64_t last = 1200;   ///< where this run ends: `steps`, or before
  std::uint64_t seed = 1;
  double learning_rate = 3e-4;
};

struct measurement {
  std::uint64_t step;
  double training_loss, held_out_loss;
  lowp::update_report updates;  ///< since the measurement before
};

class training {
 public:
  /// `read` and `chosen` outlive the training.
  training(mode const& chosen, text const& read, settings const& how);

  /// Called after each step, with the number of steps done and all measurements so far.
  using observer = std::function<void(std::uint64_t, std::vector<measurement> const&)>;
  /// Trains from the present step to `settings::last`, or until `stop` between two steps.
  void run(std::atomic<bool> const& stop, observer const& observe);

  mode const& how() const { return mode_; }
  std::uint64_t completed() const { return completed_; }
  std::vector<measurement> const& measurements() const { return measurements_; }
  /// The steps of this run, not those before a checkpoint.
  lowp::update_report updates() const;

  /// The number of weights in the model.
  std::size_t size() const { return size_of(shape_); }
  parameters const& state() const { return *parameters_; }
  /// Goes on after `completed` steps. False if `state` does not fit.
  bool resume(std::uint64_t completed, std::string_view state);

 private:
  lowp::update_report advance();
  void measure(lowp::update_report const& updates);

  mode const& mode_;
  text const& text_;
  settings settings_;
  model_shape shape_;
  std::unique_ptr<parameters> parameters_;
  std::uint64_t completed_ = 0;
  tensors weights_, gradients_;
  batch training_sample_, held_out_sample_;
  std::vector<measurement> measurements_;
};
