// SPDX-License-Identifier: Apache-2.0
// Dynamic loss scaling: a loss is multiplied by `scale` so that gradients do not underflow, and the
// scale shrinks when they overflow and grows when they have not for long.
#pragma once

#include <lowp/base/environment.hpp>
#include <lowp/base/text.hpp>
#include <lowp/measure/gradient_report.hpp>
#include <lowp/ops/arguments.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace lowp {

namespace detail {

inline namespace LOWP_UNIT {

LOWP_EXACT_BEGIN
LOWP_OPAQUE inline float product_in_double(float a, double b) {
  return lane<float>::narrowed(lane<double>::mul(lane<float>::widen(a), b));
}
LOWP_OPAQUE inline float reciprocal_in_double(float a) {
  return lane<float>::narrowed(1.0 / lane<float>::widen(a));
}
LOWP_EXACT_END

}  // namespace LOWP_UNIT

}  // namespace detail

/// torch.amp.GradScaler's state and rules. A step is
///
///     backward of loss * s.scale
///     for each gradient: unscale(g, s.inverse_scale(), report), s.observe(name, report)
///     if (!s.found_nonfinite()) update ...
///     s.update()
///
/// or unscale(gradients, s, report) of gradient_list.hpp for the middle. Trivially copyable; `scale`
/// and `growth_tracker` are what a checkpoint holds.
struct loss_scaler {
  float scale = 65536;
  double growth_factor = 2;              ///< above 1
  double backoff_factor = 0.5;           ///< below 1 and not negative
  std::uint32_t growth_interval = 2000;  ///< steps without overflow after which the scale grows
  std::uint32_t growth_tracker = 0;      ///< such steps since it last changed

  std::uint64_t updates = 0, skipped = 0;  ///< steps, and those that overflowed

  /// What overflowed first in the step that last did. The name's characters are the caller's.
  struct overflow_record {
    std::string_view tensor;
    std::uint64_t nonfinite = 0;  ///< of its elements, infinite or NaN
    std::uint64_t count = 0;      ///< of its elements
    std::uint64_t step = 0;       ///< counted from 1
  };
  overflow_record overflow{};

  /// What to multiply gradients by: 1 / scale, divided in double. Infinite where overflow after overflow
  /// has brought the scale below 2^-128: there `unscale` refuses, where GradScaler skips every step.
  LOWP_HOST_FN float inverse_scale() const {
    detail::default_environment const environment;
    return detail::reciprocal_in_double(scale);
  }

  /// Tells it of one tensor's gradient in this step.
  LOWP_HOST_FN void observe(std::string_view tensor, gradient_report const& report) {
    if (report.nonfinite == 0 || found_nonfinite()) return;
    overflow = {tensor, report.nonfinite, report.count, updates + 1};
  }
  /// Whether a gradient of this step was not finite: then it is to be skipped.
  LOWP_HOST_FN bool found_nonfinite() const { return overflow.step == updates + 1; }

  /// Ends a step: aten's _amp_update_scale_. After one that overflowed the scale is multiplied by
  /// backoff_factor; after growth_interval ones in a row that did not, by growth_factor, unless that
  /// is infinite. Products are of double, rounded to float.
  /// @throws std::invalid_argument  a factor is out of its range, as there; the scale is negative or not finite
  LOWP_HOST_FN void update() { update(found_nonfinite()); }
  LOWP_HOST_FN void update(bool found_nonfinite) {
    detail::refuse_if(invalid());
    ++updates;
    if (found_nonfinite) {
      ++skipped;
      scale = times(backoff_factor);
      growth_tracker = 0;
    } else if (++growth_tracker == growth_interval) {
      float const larger = times(growth_factor);
      if (lanes::is_finite(larger)) scale = larger;
      growth_tracker = 0;
    }
  }

  /// What is wrong with factors and scale; empty if nothing is.
  [[nodiscard]] LOWP_HOST_FN std::string invalid() const {
    // Overflow after overflow leads to 0, which is no mistake of the caller's.
    bool const is_negative = lanes::bits(scale) > lanes::binary32_sign;
    if (is_negative || !lanes::is_finite(scale))
      return "loss_scaler: scale is " + detail::text_of(scale) + ", not finite and at least 0";
    detail::unpacked const growth = detail::unpack(growth_factor);
    detail::unpacked const backoff = detail::unpack(backoff_factor);
    bool const is_one = growth.exponent == 0 && growth.significand == std::uint64_t{1} << 61;
    if (growth.nan || growth.infinite || growth.negative || growth.exponent < 0 || is_one)
      return "loss_scaler: growth_factor is " + detail::text_of(growth_factor) +
             ", not finite and above 1";
    if (backoff.nan || backoff.infinite || backoff.negative || backoff.exponent >= 0)
      return "loss_scaler: backoff_factor is " + detail::text_of(backoff_factor) +
             ", not in [0, 1)";
    return {};
  }

 private:
  LOWP_HOST_FN float times(double factor) const {
    detail::default_environment const environment;
    return detail::product_in_double(scale, factor);
  }
};

}  // namespace lowp
