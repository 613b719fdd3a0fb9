// SPDX-License-Identifier: Apache-2.0
// Accumulates, unscales, measures and clips gradients on their way to an optimizer.
//
//     for (auto const& g : micro_batches) fused_add(sum, 1.0f / n, g, rounding);   // fused_add.hpp
//     gradient_report report;
//     unscale(sum, scaler.inverse_scale(), report);
//     float const factor = clip_factor(report.norm(), max_norm);
//     if (report.nonfinite == 0) { scale by factor, and step }
//
// The type of `sum` decides the loss:
//
//     float                    next to nothing
//     bfloat16, stochastic     nothing in the mean
//     kahan of two bfloat16    each time at most half a gap of its compensation
//     bfloat16, to nearest     every micro-batch below half a gap of the sum so far
#pragma once

#include <lowp/base/environment.hpp>
#include <lowp/base/text.hpp>
#include <lowp/measure/batch_sums.hpp>
#include <lowp/measure/gradient_report.hpp>
#include <lowp/ops/scaled_cast.hpp>
#include <lowp/ops/storage_operands.hpp>

#include <algorithm>
#include <cstddef>

namespace lowp {

namespace detail {

/// Multiplies g by inverse_scale. The report gets the product.
struct unscaling {
  float inverse_scale;

  template <class F>
  LOWP_FN F operator()(F& g) const {
    g = lanes::mul(g, lanes::broadcast<F>(inverse_scale));
    return g;
  }
};

struct measuring {
  template <class F>
  LOWP_FN F operator()(F const& g) const {
    return g;
  }
};
struct make_measuring {
  LOWP_FN measuring operator()() const { return {}; }
};

inline namespace LOWP_UNIT {

/// An inverse scale that the caller knows.
struct make_unscaling {
  float inverse_scale;

  LOWP_FN unscaling operator()() const { return {inverse_scale}; }
  [[nodiscard]] error_text invalid() const {
    std::uint32_t const bits = lanes::bits(inverse_scale);
    if (bits - 1 < lanes::binary32_infinity - 1) return {};
    return "unscale: inverse_scale is " + text_of(inverse_scale) + ", not finite and above 0";
  }
};

/// An executor on the calling thread: one block of elements after the other, each with its own
/// sums. Sums of blocks are added exactly. So a range gives the bits of its shards if these are
/// multiples of a block.
struct blocks_on_this_thread {
  static constexpr std::size_t block = 1 << 14;

  template <class MakeFunction, class Report, class... Operand>
  void operator()(MakeFunction const& make_function, std::size_t count, Report* report,
                  Operand const&... operands) const {
    for (std::size_t first = 0; first < count; first += block)
      simd::dispatch(make_function, std::min(block, count - first), report,
                     operands.after(first)...);
  }
};

template <class Executor, class Extents, class G>
error_text check_gradients(Executor const& executor, char const* function, Extents const& gradients,
                           G const& g) {
  error_text wrong = invalid_among(function, {"g"}, g);
  if (wrong.empty()) wrong = unequal_sizes(function, gradients);
  if (wrong.empty()) wrong = out_of_reach(executor, function, gradients);
  return wrong;
}

LOWP_EXACT_BEGIN
LOWP_OPAQUE inline float clip_quotient(double norm, double max_norm) {
  double const factor = max_norm / (norm + 1e-6);
  return unpack(factor).nan || factor < 1 ? lane<float>::narrowed(factor) : 1;
}
LOWP_EXACT_END

}  // namespace LOWP_UNIT

/// Runs `unscale` or `measure` on `executor`. Returns the error text, empty if all is right.
template <class Executor, class G, class Make, class R = nearest_even>
[[nodiscard]] LOWP_HOST_FN error_text
unscale_on(Executor const& executor, G&& g, Make const& make, gradient_report& report,
           R rounding = {}, overflow policy = default_overflow<policy_type<G>>) {
  must_be_span_rounding<R>();
  auto const gradients = extents_of("g", g);
  error_text wrong;
  if constexpr (requires { make.invalid(); }) wrong = make.invalid();
  if (wrong.empty()) wrong = check_gradients(executor, "unscale", gradients, g);
  if (!wrong.empty()) return wrong;
  executor(make, gradients[0].size, &report,
           operand_of<simd::access::read_write>(g, rounding, policy));
  return {};
}
template <class Executor, class G>
[[nodiscard]] LOWP_HOST_FN error_text measure_on(Executor const& executor, G&& g,
                                                 gradient_report& report) {
  must_be_readable<G>();
  auto const gradients = extents_of("g", g);
  error_text const wrong = check_gradients(executor, "measure", gradients, g);
  if (!wrong.empty()) return wrong;
  executor(make_measuring{}, gradients[0].size, &report, operand_of<simd::access::read>(g));
  return {};
}

}  // namespace detail

/// g[i] = round(g[i] * inverse_scale), and in the same pass `report` is told of every product, before
/// it is rounded to the format of g. One multiplication in float, rounded to nearest even; exact where
/// the scale is a power of two and the product normal. An infinite or NaN element counts in
/// report.nonfinite and becomes infinite or NaN; then it is for the caller to skip the step.
///
/// Where g is as narrow as float16 or narrower, what the loss scale kept from underflowing underflows
/// here, as in torch.amp.GradScaler, which for that reason refuses float16: measure g instead, and
/// give `scaled` gradients to the optimizer or cast them to a wider type.
///
/// @param g       n elements, or any struct of the folder storage
/// @param report  adds to it. The bits of its sum of squares do not depend on how the range is cut
///                into shards where all but the last are multiples of 2^14 elements
/// @throws std::invalid_argument  inverse_scale is not finite and above 0. Nothing is written.
template <moment_storage G, span_rounding R = nearest_even>
LOWP_HOST_FN void unscale(G&& g, float inverse_scale, gradient_report& report, R rounding = {},
                          overflow policy = default_overflow<detail::policy_type<G>>) {
  detail::refuse_if(detail::unscale_on(detail::blocks_on_this_thread{}, g,
                                       detail::make_unscaling{inverse_scale}, report, rounding,
                                       policy));
}

/// The report of a gradient as it is: a range, or any struct of the folder storage.
template <readable G>
[[nodiscard]] LOWP_HOST_FN gradient_report measure(G&& g) {
  gradient_report report;
  detail::refuse_if(detail::measure_on(detail::blocks_on_this_thread{}, g, report));
  return report;
}

/// What to multiply all gradients by so that their norm, which is `norm` now, is at most max_norm:
/// max_norm / (norm + 1e-6), and 1 where that is larger, as torch.nn.utils.clip_grad_norm_. With an
/// infinite norm that is 0, with NaN it is NaN: skip such a step.
LOWP_HOST_FN float clip_factor(double norm, double max_norm) {
  detail::default_environment const environment;
  return detail::clip_quotient(norm, max_norm);
}

}  // namespace lowp
