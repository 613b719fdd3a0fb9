// SPDX-License-Identifier: Apache-2.0
// Trains one configuration from initial weights to the end.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "configuration.hpp"
#include "schedule.hpp"
#include "task.hpp"

namespace training {

/// The results of a run. Losses are of the weights as stored, in nats.
struct outcome {
  std::vector<double> held_out;   ///< before, and at equal distances to the end
  double rounded = 0;             ///< the same in the end, of weights rounded to bfloat16, nearest,
  double stochastic_rounded = 0;  ///< or stochastically: what the format costs without any training
  std::vector<lowp::update_report> reports;  ///< of each tensor over all steps
  std::vector<std::size_t> moved;            ///< how many weights of each tensor are not the first
  double bytes, gradient_bytes;              ///< for each parameter
  /// The mean of |u| over all weights and steps, in units of the learning rate.
  double mean_request = 0;
  /// The largest mean of |u| over all weights that a step asked for, in units of its learning rate.
  double largest_request = 0;
  /// The largest share of zeros among the second moments whose first moment is not 0. It is looked
  /// for after 1, 2, 4, ... steps and at the points above.
  double zero_second = 0;
  double update_seconds, step_seconds;  ///< medians over the steps
  tensors<float> weights;               ///< in the end

  lowp::update_report report() const;
};

/// A function of its arguments, but for the seconds.
outcome run(task<float> const& learned, configuration const& stored, schedule const& when,
            std::uint64_t seed, tensors<float> const& initial);

}  // namespace training
