// SPDX-License-Identifier: Apache-2.0
// Dynamic loss scaling: `scale` multiplies a loss, so that gradients do not underflow. The scale
// shrinks if they overflow, and grows after a long time without overflow.
#pragma once

#include <lowp/measure/reports.hpp>
#include <lowp/train/optimizer.hpp>

#include <string_view>

namespace lowp {

struct loss_scaler;

namespace detail::inline LOWP_SHARED {

float inverse_of(float scale);
void end_step(loss_scaler& scaler, bool found_nonfinite);

}  // namespace detail::inline LOWP_SHARED

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
  LOWP_HOST_FN float inverse_scale() const { return detail::inverse_of(scale); }

  /// Adds the report of one tensor's gradient in this step.
  LOWP_HOST_FN void observe(std::string_view tensor, gradient_report const& report) {
    if (report.nonfinite == 0 || found_nonfinite()) return;
    overflow = {tensor, report.nonfinite, report.count, updates + 1};
  }
  /// Returns true if a gradient of this step was not finite: skip that step.
  LOWP_HOST_FN bool found_nonfinite() const { return overflow.step == updates + 1; }

  /// Ends a step, as aten's _amp_update_scale_. After a step with overflow it multiplies the scale
  /// by backoff_factor, down to `minimum`. After growth_interval steps in a row without one it
  /// multiplies by growth_factor, unless that is infinite. Products in double are rounded to float.
  /// @throws std::invalid_argument  a factor is out of range; growth_interval is 0; the scale or
  ///                                `minimum` is negative or not finite
  LOWP_HOST_FN void update() { update(found_nonfinite()); }
  LOWP_HOST_FN void update(bool found_nonfinite) { detail::end_step(*this, found_nonfinite); }

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
};

#if defined(LOWP_BODIES)
namespace detail::inline LOWP_SHARED {

LOWP_EXACT_BEGIN
LOWP_OPAQUE inline float product_in_double(float a, double b) {
  return lane<float>::narrowed(lane<double>::mul(lane<float>::widen(a), b));
}
LOWP_OPAQUE inline float reciprocal_in_double(float a) {
  return lane<float>::narrowed(1.0 / lane<float>::widen(a));
}
LOWP_EXACT_END

LOWP_LIB float inverse_of(float scale) {
  default_environment const environment;
  return reciprocal_in_double(scale);
}
LOWP_LIB void end_step(loss_scaler& s, bool found_nonfinite) {
  refuse_if(s.invalid());
  default_environment const environment;
  ++s.updates;
  if (found_nonfinite) {
    ++s.skipped;
    // Magnitudes order as their bits. A scale that starts below the minimum stays.
    std::uint32_t least = lanes::magnitude(s.minimum), lower = lanes::magnitude(s.scale);
    if (lower < least) least = lower;
    lower = lanes::magnitude(product_in_double(s.scale, s.backoff_factor));
    s.scale = lanes::from_bits<float>(lower < least ? least : lower);
    s.growth_tracker = 0;
  } else if (++s.growth_tracker == s.growth_interval) {
    float const larger = product_in_double(s.scale, s.growth_factor);
    if (lanes::is_finite(larger)) s.scale = larger;
    s.growth_tracker = 0;
  }
}

}  // namespace detail::inline LOWP_SHARED
#endif

}  // namespace lowp
