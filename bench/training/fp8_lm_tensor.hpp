// SPDX-License-Identifier: Apache-2.0
// Keeps one tensor by the library's recipe of FP8-LM, in place of a stored_tensor.
#pragma once

#include <lowp/lowp.hpp>
#include <lowp/update.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "numbers.hpp"

namespace training {

class fp8_lm_tensor {
 public:
  explicit fp8_lm_tensor(numbers<float> const& initial)
      : weights_(initial.size()),
        gradient_(initial.size()),
        first_(initial.size()),
        second_(initial.size()),
        recipe_{weights_, gradient_, first_, second_} {
    recipe_.store_weights(initial);
  }

  void read(numbers<float>& weights) const { read(weights_, recipe_.weight_scale, weights); }
  void read_moments(numbers<float>& first, numbers<float>& second) const {
    read(first_, recipe_.first_scale, first);
    read(second_, recipe_.second_scale, second);
  }
  void step(numbers<float> const& gradient, double lr, std::uint64_t step,
            lowp::per_slot const& rounding, lowp::update_report& report) {
    recipe_.store_gradient(gradient);
    recipe_.update(lowp::adamw{.lr = lr}, step, rounding, report);
  }

  std::size_t bytes() const {
    return weights_.size() * lowp::fp8_lm::bytes - gradient_.size() + 3 * sizeof(float);
  }
  std::size_t gradient_bytes() const { return gradient_.size() + sizeof(float); }

 private:
  template <class T>
  static void read(std::vector<T> const& codes, float scale, numbers<float>& out) {
    lowp::cast(codes, out);
    for (float& x : out) x /= scale;
  }

  std::vector<lowp::float16> weights_;
  std::vector<lowp::float8_e4m3fn> gradient_, first_;
  std::vector<lowp::float16> second_;
  lowp::fp8_lm recipe_;
};

}  // namespace training
