// SPDX-License-Identifier: Apache-2.0
#include "training.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace {

constexpr std::size_t batch_size = 64;
constexpr std::size_t sample_size = 1024;
constexpr std::uint64_t points_of_a_curve = 48;

// From the full rate to nearly zero along half a cosine over all steps of the schedule. It depends
// on the requested number of steps, so a continued run needs the same number again.
double rate_at(std::uint64_t step, settings const& s) {
  double const done = static_cast<double>(step - 1) / static_cast<double>(s.steps);
  return s.learning_rate * (1 + std::cos(std::numbers::pi * done)) / 2;
}

}  // namespace

training::training(mode const& chosen, text const& read, settings const& how)
    : mode_(chosen),
      text_(read),
      settings_(how),
      shape_(shape_of_model(read.vocabulary().size())),
      parameters_(mode_.store(shape_, initial_weights(shape_, how.seed),
                              {mode_.is_stochastic, mode_.is_scaled, how.seed})),
      training_sample_(read.training_sample(sample_size)),
      held_out_sample_(read.held_out_sample(sample_size)) {}

void training::run(std::atomic<bool> const& stop, observer const& observe) {
  std::uint64_t const interval = std::max<std::uint64_t>(1, settings_.steps / points_of_a_curve);
  lowp::update_report updates;
  measure(updates);
  observe(completed_, measurements_);
  while (completed_ < settings_.last && !stop) {
    updates += advance();
    if (completed_ % interval == 0 || completed_ == settings_.last) {
      measure(updates);
      updates = {};
    }
    observe(completed_, measurements_);
  }
}

lowp::update_report training::advance() {
  std::uint64_t const step = completed_ + 1;
  parameters_->read(weights_);
  differentiate(weights_, shape_, text_.training_batch(settings_.seed, step, batch_size),
                gradients_);
  lowp::update_report const report =
      parameters_->step(gradients_, {.lr = rate_at(step, settings_)}, step);
  completed_ = step;
  return report;
}

void training::measure(lowp::update_report const& updates) {
  parameters_->read(weights_);
  measurements_.push_back({completed_, loss_of(weights_, shape_, training_sample_),
                           loss_of(weights_, shape_, held_out_sample_), updates});
}

lowp::update_report training::updates() const {
  lowp::update_report all;
  for (measurement const& m : measurements_) all += m.updates;
  return all;
}

bool training::resume(std::uint64_t completed, std::string_view state) {
  completed_ = completed;
  return parameters_->load(state);
}
