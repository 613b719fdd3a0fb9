// SPDX-License-Identifier: Apache-2.0
// The bodies of `unscale` and `measure`, and of other operations that read for a report.
#pragma once

#include <lowp/base/environment.hpp>
#include <lowp/measure/batch_sums.hpp>
#include <lowp/ops/number.hpp>
#include <lowp/ops/storage_operands.hpp>

namespace lowp {

namespace detail {

struct measuring {
  LOWP_FN auto operator()(auto const& x) const { return x; }
  template <class F>
  LOWP_FN factors<F> operator()(F const& a, F const& b) const {
    return {a, b};
  }
};

/// A variable of a report that is of these counts and a type, such as census_report<float16>.
template <class R, class Counts>
concept report_of_type = std::is_lvalue_reference_v<R> && !std::same_as<R, Counts&> &&
                         std::convertible_to<std::remove_reference_t<R>*, Counts*>;

inline namespace LOWP_UNIT {

LOWP_EXACT_BEGIN
LOWP_OPAQUE inline float clip_quotient(double norm, double max_norm) {
  double const factor = max_norm / (norm + 1e-6);
  return unpack(factor).nan || factor < 1 ? lane<float>::narrowed(factor) : 1;
}
LOWP_EXACT_END

inline error_text check_max_norm(char const* function, double max_norm) {
  unpacked const most = unpack(max_norm);
  if (!most.nan && !(most.negative && (most.significand != 0 || most.infinite))) return {};
  return joined_text(
      {function, ": max_norm is ", shortest_text(max_norm).text, ", not at least 0"});
}

}  // namespace LOWP_UNIT

struct unscaling {
  static constexpr char const* argument = "inverse_scale";
  static constexpr number_range range = above_zero;

  float inverse_scale;

  template <class F>
  LOWP_FN F operator()(F& g) const {
    g = lanes::mul(g, lanes::broadcast<F>(inverse_scale));
    return g;
  }
};

template <class Executor, class G, class InverseScale, class R = nearest_even>
LOWP_HOST_FN void unscale_on(Executor const& executor, G& g, InverseScale const& inverse_scale,
                             gradient_report& report, R const& rounding = {},
                             overflow policy = default_overflow<rounded_element<G>>) {
  run(by_blocks(executor), "unscale", make_of<unscaling>(inverse_scale), &report,
      read_write("g", g, rounding, policy));
}
LOWP_HOST_FN void measure_on(auto const& executor, auto&& g, gradient_report& report) {
  run(by_blocks(executor), "measure", make<measuring>{}, &report, read("g", g));
}

LOWP_HOST_FN gradient_report measured(auto&& range) {
  gradient_report report;
  measure_on(simd::this_thread{}, range, report);
  return report;
}
LOWP_HOST_FN amax largest_of(auto&& range) { return measured(range).largest; }

}  // namespace detail

/// Returns the factor that reduces the norm of all gradients, now `norm`, to at most max_norm. It
/// is max_norm / (norm + 1e-6), but at most 1, as in torch.nn.utils.clip_grad_norm_. It is 0 if
/// only the norm is infinite, and NaN if both are or the norm is NaN: skip such a step.
/// @throws std::invalid_argument  max_norm is negative or NaN
LOWP_HOST_FN float clip_factor(double norm, double max_norm) {
  detail::refuse_if(detail::check_max_norm("clip_factor", max_norm));
  detail::default_environment const environment;
  return detail::clip_quotient(norm, max_norm);
}

}  // namespace lowp
