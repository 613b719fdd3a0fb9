// SPDX-License-Identifier: Apache-2.0
// Keeps one tensor by FP8-LM's recipe (H. Peng et al., "FP8-LM: Training FP8 large language
// models", arXiv:2310.18313, 2.2), in place of a stored_tensor. Gradient and first moment are in
// fp8, second moment and master weights in fp16. Each has a scale for the tensor, a power of two.
// It is chosen before a step, from bounds of its results:
//
//     |w'| <= |w| + 8 lr    a step of AdamW is rarely longer than lr; one beyond this saturates
//     |m'| <= beta1 |m| + (1 - beta1) |g|
//     |v'| <= beta2 |v| + (1 - beta2) g^2
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
        second_(initial.size()) {
    store(initial, weights_, weight_scale_);
  }

  void read(numbers<float>& weights) const { read(weights_, weight_scale_, weights); }
  void read_moments(numbers<float>& first, numbers<float>& second) const {
    read(first_, first_scale_, first);
    read(second_, second_scale_, second);
  }
  void step(numbers<float> const& gradient, double lr, std::uint64_t step,
            lowp::per_slot const& rounding, lowp::update_report& report) {
    store(gradient, gradient_, gradient_scale_);
    lowp::adamw const a{.lr = lr};
    double const w = largest(weights_, weight_scale_), g = largest(gradient_, gradient_scale_),
                 m = largest(first_, first_scale_), v = largest(second_, second_scale_);
    float const next_weights = scale_for<lowp::float16>(w + 8 * lr),
                next_first = scale_for<lowp::float8_e4m3fn>(a.beta1 * m + (1 - a.beta1) * g),
                next_second = scale_for<lowp::float16>(a.beta2 * v + (1 - a.beta2) * g * g);
    lowp::update(lowp::scaled{weights_, weight_scale_, next_weights},
                 lowp::scaled{gradient_, gradient_scale_},
                 lowp::scaled{first_, first_scale_, next_first},
                 lowp::scaled{second_, second_scale_, next_second}, a, step, rounding,
                 lowp::overflow::saturate, report);
    weight_scale_ = next_weights;
    first_scale_ = next_first;
    second_scale_ = next_second;
  }

  std::size_t bytes() const {
    return weights_.size() *
               (sizeof(lowp::float16) + sizeof(lowp::float8_e4m3fn) + sizeof(lowp::float16)) +
           3 * sizeof(float);
  }
  std::size_t gradient_bytes() const { return gradient_.size() + sizeof(float); }

 private:
  template <class T>
  static double largest(std::vector<T> const& codes, float scale) {
    return double{lowp::measure(codes).largest.value()} / scale;
  }
  template <class T>
  static float scale_for(double bound) {  // 0 times infinity has no bound: the scale 1
    return bound == bound ? lowp::power_of_two_scale<T>(static_cast<float>(bound)) : 1;
  }
  template <class T>
  static void store(numbers<float> const& values, std::vector<T>& to, float& scale) {
    scale = lowp::power_of_two_scale<T>(lowp::measure(values).largest);
    lowp::scaled_cast(values, to, scale);
  }
  template <class T>
  static void read(std::vector<T> const& codes, float scale, numbers<float>& out) {
    lowp::cast(codes, out);
    for (float& x : out) x /= scale;
  }

  std::vector<lowp::float16> weights_;
  std::vector<lowp::float8_e4m3fn> gradient_, first_;
  std::vector<lowp::float16> second_;
  float weight_scale_ = 1, gradient_scale_ = 1, first_scale_ = 1, second_scale_ = 1;
};

}  // namespace training
