// SPDX-License-Identifier: Apache-2.0
// FP8-LM's recipe: 8 and 16 bits, with a scale for each tensor.
#pragma once

#include <lowp/measure/measuring.hpp>
#include <lowp/ops/scaled_cast.hpp>
#include <lowp/storage/scale.hpp>
#include <lowp/train/update.hpp>

namespace lowp {

namespace detail::inline LOWP_UNIT {

LOWP_EXACT_BEGIN

/// Returns bounds of |w|, |m| and |v| after a step, from the largest codes of w, g, m and v.
LOWP_OPAQUE inline std::array<amax, 3> bounds_of(amax const (&codes)[4], float const (&scales)[4],
                                                 adamw const& a) {
  double largest[4];
  for (int i = 0; i < 4; ++i)
    largest[i] = lane<float>::widen(codes[i].value()) / lane<float>::widen(scales[i]);
  auto const [w, g, m, v] = largest;
  double const bounds[] = {w + 8 * a.lr, a.beta1 * m + (1 - a.beta1) * g,
                           a.beta2 * v + (1 - a.beta2) * g * g};
  std::array<amax, 3> all;
  for (int i = 0; i < 3; ++i) {  // 0 times infinity has no bound
    std::uint32_t const bits = lanes::bits(narrowed(bounds[i]));
    all[static_cast<std::size_t>(i)] = {bits < lanes::binary32_infinity ? bits
                                                                        : lanes::binary32_infinity};
  }
  return all;
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
  /// @param report    optional: an update_report, update_amax or moment_report to add to
  /// @throws std::invalid_argument  as lowp::update
  template <update_rounding R, detail::reports_update... Report>
    requires(sizeof...(Report) <= 1)
  LOWP_HOST_FN void update(adamw const& optimizer, std::uint64_t step, R rounding,
                           Report&... report) {
    detail::refuse_if(detail::check_optimizer(optimizer, step, 2));  // before it bounds results
    amax const codes[] = {detail::largest_of(weights), detail::largest_of(gradient),
                          detail::largest_of(first), detail::largest_of(second)};
    float const scales[] = {weight_scale, gradient_scale, first_scale, second_scale};
    detail::default_environment const environment;
    auto const [most_w, most_m, most_v] = detail::bounds_of(codes, scales, optimizer);
    float const next_weights = power_of_two_scale<float16>(most_w),
                next_first = power_of_two_scale<float8_e4m3fn>(most_m),
                next_second = power_of_two_scale<float16>(most_v);
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
    float const fitting = power_of_two_scale<T>(detail::largest_of(values));
    scaled_cast(values, to, fitting, rounding);
    scale = fitting;
  }
};

}  // namespace lowp
