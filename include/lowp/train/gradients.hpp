// SPDX-License-Identifier: Apache-2.0
// Gradients on their way to an optimizer: accumulated, unscaled, measured and clipped.
//
//     for (auto const& g : micro_batches) fused_add(sum, 1.0f / n, g, rounding);   // fused_add.hpp
//     gradient_report report;
//     unscale(sum, scaler.inverse_scale(), report);
//     float const factor = clip_factor(report.norm(), max_norm);
//     if (report.nonfinite == 0) { scale by factor, and step }
//
// The storage of `sum` decides what is lost: next to nothing in float, nothing in the mean in a
// stochastic bfloat16. A bfloat16 to nearest loses each micro-batch below half a gap of the sum.
#pragma once

#include <lowp/measure/measuring.hpp>
#include <lowp/ops/tensor_list.hpp>
#include <lowp/train/loss_scaler.hpp>

namespace lowp {

template <class L>
concept input_list = tensor_list<L> && input<detail::values_of<L>>;
template <class L>
concept output_list = input_list<L> && output<detail::values_of<L>>;

namespace detail {

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

inline namespace LOWP_SHARED {

float clip_quotient(double total_norm, double max_norm);
error_text check_max_norm(char const* function, double max_norm);
/// Returns the error text of a loss_scaler whose scale has no finite inverse.
error_text check_inverse(loss_scaler const& scaler);

#if defined(LOWP_BODIES)

LOWP_EXACT_BEGIN
LOWP_OPAQUE LOWP_LIB float clip_quotient(double total_norm, double max_norm) {
  double const factor = max_norm / (total_norm + 1e-6);
  return unpack(factor).nan || factor < 1 ? lane<float>::narrowed(factor) : 1;
}
LOWP_EXACT_END

LOWP_LIB error_text check_max_norm(char const* function, double max_norm) {
  unpacked const most = unpack(max_norm);
  if (!most.nan && !(most.negative && (most.significand != 0 || most.infinite))) return {};
  return joined_text(
      {function, ": max_norm is ", shortest_text(max_norm).text, ", not at least 0"});
}
LOWP_LIB error_text check_inverse(loss_scaler const& scaler) {
  float const inverse = scaler.inverse_scale();
  error_text const wrong = check_numbers("", {{"inverse", inverse, above_zero}});
  if (wrong.empty()) return wrong;
  return joined_text({"unscale: loss_scaler: scale is ", shortest_text(scaler.scale).text,
                      ", and its ", wrong.c_str()});
}

#endif

}  // namespace LOWP_SHARED

inline namespace LOWP_UNIT {

void unscale_list_on(auto const& executor, auto const& gradients, loss_scaler& scaler,
                     gradient_report& report, auto const& rounding) {
  executor.refuse_if(check_inverse(scaler));
  auto const make = make_of<unscaling>(scaler.inverse_scale());
  call_each(executor, "unscale", gradients,
            [&](auto const& on, auto const& tensor, std::uint32_t number) {
              gradient_report own;
              run(by_blocks(on), "unscale", make, &own,
                  read_write("g", tensor.values, of_tensor(rounding, number)));
              scaler.observe(tensor.name, own);
              report += own;
            });
}

/// Adds the report of a tensor's gradient.
struct measure_tensor {
  gradient_report& all;

  void operator()(auto const& on, auto const& tensor, std::uint32_t) const {
    run(by_blocks(on), "measure", make<measuring>{}, &all, read("g", tensor.values));
  }
};

gradient_report clip_on(auto const& executor, auto const& gradients, double max_norm,
                        auto const& rounding) {
  make<scaling> by{{1}};  // which unlike scaled_cast's may be 0
  auto const scale = [&](auto const& on, auto const& tensor, std::uint32_t number) {
    run(on, "clip", by, no_report, write("g", tensor.values, of_tensor(rounding, number)),
        read("g", tensor.values));
  };
  executor.refuse_if(check_max_norm("clip", max_norm));
  executor.refuse_if(check_each(executor, "clip", gradients, scale));
  gradient_report report;
  for_each_checked(executor, gradients, measure_tensor{report});
  default_environment const environment;
  by.function.scale = clip_quotient(report.norm(), max_norm);
  if (report.nonfinite == 0 && lanes::bits(by.function.scale) != lanes::bits(1.0f))
    for_each_checked(executor, gradients, scale);
  return report;
}

}  // namespace LOWP_UNIT

template <class T>
using neither_a_storage_nor_a_list_of_named_outputs =
    fit<moment_storage<T> || output_list<std::remove_cvref_t<T>>>;
template <class T>
using neither_an_output_nor_a_list_of_named_outputs =
    fit<output<T> || output_list<std::remove_cvref_t<T>>>;
template <class T>
using neither_a_readable_nor_a_list_of_named_inputs =
    fit<readable<T> || input_list<std::remove_cvref_t<T>>>;
template <class T>
using neither_a_number_nor_a_loss_scaler =
    fit<number_argument<std::remove_cvref_t<T>> || std::same_as<T, loss_scaler&>>;

/// Multiplies: g[i] = round(g[i] * inverse_scale). `report` counts each product before rounding.
///
/// Each product is rounded to nearest even in float; it is exact if the scale is a power of two and
/// the product normal. An infinite or NaN element counts in report.nonfinite; the caller then skips
/// the step. If g is as narrow as float16, values that the loss scale kept from underflow underflow
/// here: torch.amp.GradScaler refuses float16. Measure such a g, and give `scaled` or wider
/// gradients to the optimizer.
///
/// @param g         n elements, or any struct of the folder storage; or a list of named spans. With
///                  a list, a loss_scaler replaces inverse_scale and observes each tensor by name
/// @param report    the call adds to it. Shards that are multiples of 2^14 elements, but for the
///                  last, do not change its sum's bits
/// @param rounding  a stochastic mode is of_tensor(i) for tensor number i of a list
/// @throws std::invalid_argument  inverse_scale, or the scaler's, is not finite and above 0, or a
///                                tensor is listed twice; nothing is written
template <class Executor>
struct unscale_operation : operation<Executor> {
  using calls = call<needs<names::g, neither_a_storage_nor_a_list_of_named_outputs>,
                     needs<names::inverse_scale, neither_a_number_nor_a_loss_scaler>,
                     needs<names::report, a_variable<gradient_report>::is_needed>,
                     may_have_rounding_then_policy>;

  template <moment_storage G, number_argument InverseScale, range_rounding R = nearest_even>
  LOWP_HOST_FN void operator()(G&& g, InverseScale inverse_scale, gradient_report& report,
                               R rounding = {},
                               overflow policy = default_overflow<rounded_element<G>>) const {
    run(by_blocks(this->executor), "unscale", make_of<unscaling>(inverse_scale), &report,
        read_write("g", g, rounding, policy));
  }
  template <output_list L, span_rounding R = nearest_even>
    requires returns_values<Executor>
  LOWP_HOST_FN void operator()(L const& gradients, loss_scaler& scaler, gradient_report& report,
                               R rounding = {}) const {
    unscale_list_on(this->executor, gradients, scaler, report, rounding);
  }
};

/// Returns the report of a gradient, or of all tensors of a list; or adds it to `report`.
///
/// @param g  n elements, any struct of the folder storage, or a list of named spans
template <class Executor>
struct measure_operation : operation<Executor> {
  using calls = call<needs<names::g, neither_a_readable_nor_a_list_of_named_inputs>,
                     may_have_report<gradient_report>>;

  LOWP_HOST_FN void operator()(readable auto&& g, gradient_report& report) const {
    run(by_blocks(this->executor), "measure", make<measuring>{}, &report, read("g", g));
  }
  template <readable G>
    requires returns_values<Executor>
  [[nodiscard]] LOWP_HOST_FN gradient_report operator()(G&& g) const {
    gradient_report report;
    (*this)(g, report);
    return report;
  }
  template <input_list L>
    requires returns_values<Executor>
  [[nodiscard]] LOWP_HOST_FN gradient_report operator()(L const& gradients) const {
    gradient_report all;
    call_each(this->executor, "measure", gradients, measure_tensor{all});
    return all;
  }
};

/// Multiplies all gradients of a list, or one, by clip_factor(total_norm, max_norm), as
/// torch.nn.utils.clip_grad_norm_. Returns the report from before. The norm is that of all tensors.
///
/// Nothing is written if the factor is 1 or the norm is not finite: see report.nonfinite. PyTorch
/// makes such gradients NaN or 0.
///
/// @param gradients  a list of named spans, `std::vector list{named{"w", g}, ...}`; or n elements
/// @param max_norm  at least 0; infinite only measures
/// @param rounding  a stochastic mode is of_tensor(i) for tensor number i
/// @throws std::invalid_argument  max_norm is negative or NaN, or a tensor is listed twice
template <class Executor>
struct clip_operation : operation<Executor> {
  using calls = call<needs<names::gradients, neither_an_output_nor_a_list_of_named_outputs>,
                     needs_number<names::max_norm>,
                     may_have<1, names::rounding, not_a_rounding_mode_of_ranges>>;

  template <output_list L, span_rounding R = nearest_even>
  LOWP_HOST_FN gradient_report operator()(L const& gradients, double max_norm,
                                          R rounding = {}) const {
    return clip_on(this->executor, gradients, max_norm, rounding);
  }
  template <output G, span_rounding R = nearest_even>
    requires(!output_list<std::remove_cvref_t<G>>)
  LOWP_HOST_FN gradient_report operator()(G&& gradient, double max_norm, R rounding = {}) const {
    named<std::span<element_of<G>>> const list[] = {{"g", gradient}};
    return clip_on(this->executor, std::span(list), max_norm, rounding);
  }
};

}  // namespace detail

/// Returns the factor that reduces the norm of all gradients, `total_norm`, to at most max_norm. It
/// is max_norm / (total_norm + 1e-6), but at most 1, as in torch.nn.utils.clip_grad_norm_. It is 0
/// if only the norm is infinite, and NaN if both are or the norm is NaN: skip such a step.
/// @throws std::invalid_argument  max_norm is negative or NaN
LOWP_HOST_FN float clip_factor(double total_norm, double max_norm) {
  detail::refuse_if(detail::check_max_norm("clip_factor", max_norm));
  detail::default_environment const environment;
  return detail::clip_quotient(total_norm, max_norm);
}

}  // namespace lowp

LOWP_ON_THIS_THREAD(unscale)
LOWP_ON_THIS_THREAD(measure)
LOWP_ON_THIS_THREAD(clip)

namespace lowp::simd {
#define LOWP_COMPILED_GRADIENT(part, T)                                                          \
  LOWP_COMPILED_CALL(part, compiled_elements<detail::make<detail::measuring>, gradient_report,   \
                                             operand<T, access::read>>)                          \
  LOWP_COMPILED_CALL(part, compiled_elements<decltype(detail::make_of<detail::unscaling>(1.0f)), \
                                             gradient_report, compiled_slot<T>>)                 \
  LOWP_COMPILED_CALL(part, compiled_elements<detail::make<detail::scaling>, no_report,           \
                                             operand<T, access::write>, operand<T, access::read>>)
LOWP_COMPILED_MEASURES(LOWP_COMPILED_GRADIENT)
#undef LOWP_COMPILED_GRADIENT
}  // namespace lowp::simd
