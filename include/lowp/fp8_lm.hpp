// SPDX-License-Identifier: Apache-2.0
// Training by FP8-LM's recipe: 8 and 16 bits, with a scale for each tensor.
#pragma once

#include <lowp/measure/gradients.hpp>
#include <lowp/ops/scaled_cast.hpp>
#include <lowp/storage/scale.hpp>
#include <lowp/train/update.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace lowp {

namespace detail::inline LOWP_UNIT {

LOWP_EXACT_BEGIN

/// Returns kept * (codes / scale) + added, as a bound of the values that the next step stores.
LOWP_OPAQUE inline amax bound_of(amax const& codes, float scale, double kept, double added) {
  double const value = lane<float>::widen(codes.value()) / lane<float>::widen(scale);
  return {lanes::bits(narrowed(kept * value + added))};
}

/// Bounds of |w|, |m| and |v| after a step, from those before it and from |g|.
struct fp8_lm_bounds {
  amax weights, first, second;
};
LOWP_OPAQUE inline fp8_lm_bounds bounds_of(amax const (&codes)[4], float const (&scales)[4],
                                           adamw const& a) {
  double const g = lane<float>::widen(codes[1].value()) / lane<float>::widen(scales[1]);
  return {bound_of(codes[0], scales[0], 1, 8 * a.lr),
          bound_of(codes[2], scales[2], a.beta1, (1 - a.beta1) * g),
          bound_of(codes[3], scales[3], a.beta2, (1 - a.beta2) * g * g)};
}

LOWP_EXACT_END

}  // namespace detail::inline LOWP_UNIT

/// A tensor by FP8-LM's recipe (H. Peng et al., "FP8-LM: Training FP8 large language models",
/// arXiv:2310.18313, 2.2). Gradient and first moment are in fp8, second moment and master weights
/// in fp16. Each has a scale for the tensor. That is 6 bytes for a parameter; fp32 takes 16. Scales
/// are powers of two. They are chosen before a step, from bounds of its results:
///
///     |w'| <= |w| + 8 lr    a step of AdamW is rarely longer than lr; one beyond this saturates
///     |m'| <= beta1 |m| + (1 - beta1) |g|
///     |v'| <= beta2 |v| + (1 - beta2) g^2
///
/// A checkpoint needs only the arrays and the four scales.
struct fp8_lm {
  std::span<float16> weights;
  std::span<float8_e4m3fn> gradient;  ///< and moments: as many elements, zeros at the start
  std::span<float8_e4m3fn> first;
  std::span<float16> second;
  float weight_scale = 1, gradient_scale = 1, first_scale = 1, second_scale = 1;

  static constexpr std::size_t bytes =
      sizeof(float16) + sizeof(float8_e4m3fn) + sizeof(float8_e4m3fn) + sizeof(float16);

  /// Stores weights with the largest scale at which none overflows.
  template <input W, span_rounding R = nearest_even>
  LOWP_HOST_FN void store_weights(W&& w, R rounding = {}) {
    store(w, weights, weight_scale, rounding);
  }
  template <input G, span_rounding R = nearest_even>
  LOWP_HOST_FN void store_gradient(G&& g, R rounding = {}) {
    store(g, gradient, gradient_scale, rounding);
  }

  /// Runs one step of AdamW with the stored gradient. A report counts values that saturate.
  ///
  /// @param rounding  stochastic; each of the three slots takes its own bits. To nearest, the
  ///                  second moment forgets small gradients. The first sticks at its smallest code
  ///                  while the second decays to zero: steps without bound.
  /// @param report    optional: an update_report, to which the step adds
  /// @throws std::invalid_argument  as lowp::update
  template <update_rounding R, class... Report>
  LOWP_HOST_FN void update(adamw const& optimizer, std::uint64_t step, R rounding,
                           Report&... report) {
    amax const codes[] = {detail::largest_of(weights), detail::largest_of(gradient),
                          detail::largest_of(first), detail::largest_of(second)};
    float const scales[] = {weight_scale, gradient_scale, first_scale, second_scale};
    detail::fp8_lm_bounds bound;
    {
      detail::default_environment const environment;
      bound = detail::bounds_of(codes, scales, optimizer);
    }
    float const next_weights = power_of_two_scale<float16>(bound.weights),
                next_first = power_of_two_scale<float8_e4m3fn>(bound.first),
                next_second = power_of_two_scale<float16>(bound.second);
    lowp::update(scaled{weights, weight_scale, next_weights}, scaled{gradient, gradient_scale},
                 scaled{first, first_scale, next_first}, scaled{second, second_scale, next_second},
                 optimizer, step, rounding, overflow::saturate, report...);
    weight_scale = next_weights;
    first_scale = next_first;
    second_scale = next_second;
  }

 private:
  template <class Values, class T, class R>
  LOWP_HOST_FN static void store(Values& values, std::span<T> to, float& scale, R const& rounding) {
    scale = power_of_two_scale<T>(detail::largest_of(values));
    scaled_cast(values, to, scale, rounding);
  }
};

}  // namespace lowp
