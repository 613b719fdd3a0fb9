// SPDX-License-Identifier: Apache-2.0
// Dynamic loss scaling: `scale` multiplies a loss, so that gradients do not underflow. The scale
// shrinks if they overflow, and grows after a long time without overflow.
#pragma once

#include <lowp/base/environment.hpp>
#include <lowp/measure/reports.hpp>
#include <lowp/train/optimizer.hpp>

#include <string_view>

namespace lowp {

namespace detail::inline LOWP_UNIT {

LOWP_EXACT_BEGIN
LOWP_OPAQUE inline float product_in_double(float a, double b) {
  return lane<float>::narrowed(lane<double>::mul(lane<float>::widen(a), b));
}
LOWP_OPAQUE inline float reciprocal_in_double(float a) {
  return lane<float>::narrowed(1.0 / lane<float>::widen(a));
}
LOWP_EXACT_END

}  // namespace detail::inline LOWP_UNIT

/// The state and rules of torch.amp.GradScaler, but for `minimum`. A step is
///
///     backward of loss * s.scale
///     for each gradient: unscale(g, s.inverse_scale(), report), s.observe(name, report)
///     if (!s.found_nonfinite()) update ...
///     s.update()
///
/// The middle may also be unscale(gradients, s, report) of gradients.hpp. Trivially copyable; a
/// checkpoint holds `scale` and `growth_tracker`.
struct loss_scaler {
  float scale = 65536;
  double growth_factor = 2;              ///< above 1
  double backoff_factor = 0.5;           ///< below 1 and not negative
  std::uint32_t growth_interval = 2000;  ///< at least 1: steps without overflow before it grows
  std::uint32_t growth_tracker = 0;      ///< such steps since the last change

  std::uint64_t updates = 0, skipped = 0;  ///< all steps, and those that overflowed

  /// The first overflow of the last step that had one. The caller owns the name's characters.
  struct overflow_record {
    std::string_view tensor;
    std::uint64_t nonfinite = 0;  ///< infinite or NaN elements
    std::uint64_t count = 0;      ///< all elements
    std::uint64_t step = 0;       ///< counted from 1
  };
  overflow_record overflow{};

  /// The scale does not fall below it. From 0, which GradScaler may reach, no scale grows again.
  float minimum = 0x1p-24f;

  /// Returns the factor for gradients: 1 / scale, divided in double. It is infinite, which
  /// `unscale` refuses, for a scale up to 2^-128.
  LOWP_HOST_FN float inverse_scale() const {
    detail::default_environment const environment;
    return detail::reciprocal_in_double(scale);
  }

  /// Adds the report of one tensor's gradient in this step.
  LOWP_HOST_FN void observe(std::string_view tensor, gradient_report const& report) {
    if (report.nonfinite == 0 || found_nonfinite()) return;
    overflow = {tensor, report.nonfinite, report.count, updates + 1};
  }
  /// Returns true if a gradient of this step was not finite: skip that step.
  LOWP_HOST_FN bool found_nonfinite() const { return overflow.step == updates + 1; }

  /// Ends a step, as aten's _amp_update_scale_. After a step with overflow it multiplies the scale
  /// by backoff_factor, down to `minimum`. After growth_interval steps in a row without one it
  /// multiplies by growth_factor, unless that is infinite. Products are in double, and rounded to
  /// float.
  /// @throws std::invalid_argument  a factor is out of range; growth_interval is 0; the scale or
  ///                                `minimum` is negative or not finite
  LOWP_HOST_FN void update() { update(found_nonfinite()); }
  LOWP_HOST_FN void update(bool found_nonfinite) {
    detail::refuse_if(invalid());
    ++updates;
    if (found_nonfinite) {
      ++skipped;
      // Magnitudes order as their bits. A scale that starts below the minimum stays.
      std::uint32_t least = lanes::magnitude(minimum), lower = lanes::magnitude(scale);
      if (lower < least) least = lower;
      lower = lanes::magnitude(times(backoff_factor));
      scale = lanes::from_bits<float>(lower < least ? least : lower);
      growth_tracker = 0;
    } else if (++growth_tracker == growth_interval) {
      float const larger = times(growth_factor);
      if (lanes::is_finite(larger)) scale = larger;
      growth_tracker = 0;
    }
  }

  /// Returns the error text for settings and scale, empty if all is right.
  [[nodiscard]] LOWP_HOST_FN detail::error_text invalid() const {
    if (growth_interval == 0) return "loss_scaler: growth_interval is 0, not at least 1";
    // With a minimum of 0, repeated overflow leads to a scale of 0.
    return detail::check_numbers("loss_scaler",
                                 {{"scale", scale},
                                  {"growth_factor", growth_factor, detail::above_one},
                                  {"backoff_factor", backoff_factor, detail::below_one},
                                  {"minimum", minimum}},
                                 detail::used_as_double);
  }

 private:
  LOWP_HOST_FN float times(double factor) const {
    detail::default_environment const environment;
    return detail::product_in_double(scale, factor);
  }
};

}  // namespace lowp
