// SPDX-License-Identifier: Apache-2.0
// The bodies of `unscale` and `measure`, and of other operations that read for a report.
#pragma once

#include <lowp/base/environment.hpp>
#include <lowp/base/text.hpp>
#include <lowp/measure/batch_sums.hpp>
#include <lowp/measure/gradient_report.hpp>
#include <lowp/ops/number.hpp>
#include <lowp/ops/storage_operands.hpp>
#include <lowp/simd/executors.hpp>

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

/// Observes elements, or products of two.
struct measuring {
  template <class F>
  LOWP_FN F operator()(F const& x) const {
    return x;
  }
  template <class F>
  LOWP_FN factors<F> operator()(F const& a, F const& b) const {
    return {a, b};
  }
};
struct make_measuring {
  LOWP_FN measuring operator()() const { return {}; }
};

inline namespace LOWP_UNIT {

inline error_text check_inverse_scale(char const* function, float inverse_scale) {
  std::uint32_t const bits = lanes::bits(inverse_scale);
  if (bits - 1 < lanes::binary32_infinity - 1) return {};
  return std::string(function) + ": inverse_scale is " + text_of(inverse_scale) +
         ", not finite and above 0";
}

LOWP_EXACT_BEGIN
LOWP_OPAQUE inline float clip_quotient(double norm, double max_norm) {
  double const factor = max_norm / (norm + 1e-6);
  return unpack(factor).nan || factor < 1 ? lane<float>::narrowed(factor) : 1;
}
LOWP_EXACT_END

}  // namespace LOWP_UNIT

/// Makes the element function of `unscale`.
template <class Number>
struct make_unscaling : made_of_number<Number> {
  LOWP_FN unscaling operator()() const { return unscaling{this->value()}; }
  [[nodiscard]] LOWP_HOST_FN error_text check() const {
    return this->checked(check_inverse_scale, "unscale");
  }
};
template <class Number>
make_unscaling(Number) -> make_unscaling<Number>;

/// Runs `unscale` on `executor`. Returns the error text, empty if all is right.
template <class Executor, class G, class Make, class R = nearest_even>
[[nodiscard]] LOWP_HOST_FN error_text
unscale_on(Executor const& executor, G&& g, Make const& make, gradient_report& report,
           R rounding = {}, overflow policy = default_overflow<policy_type<G>>) {
  auto const gradients = extents_of("g", g);
  call_check check("unscale");
  check.add(make.check());
  check.add(check_readable(executor, check.function(), {"g"}, gradients, g));
  check_overlap(check, gradients, std::array<extent, 0>{});
  if (check.failed()) return check.text();
  by_blocks(executor)(make, gradients[0].size, &report,
                      operand_of<simd::access::read_write>(g, rounding, policy));
  return {};
}

/// Adds what storages hold to a report. Returns the error text, empty if all is right.
template <class Executor, std::size_t N, class Extents, class Report, class... S>
[[nodiscard]] LOWP_HOST_FN error_text read_on(Executor const& executor, char const* function,
                                              char const* const (&names)[N], Extents const& extents,
                                              Report& report, S&... storages) {
  error_text wrong = check_readable(executor, function, names, extents, storages...);
  if (wrong.empty())
    executor(make_measuring{}, extents[0].size, &report,
             operand_of<simd::access::read>(storages)...);
  return wrong;
}
template <class Executor, class G>
[[nodiscard]] LOWP_HOST_FN error_text measure_on(Executor const& executor, G&& g,
                                                 gradient_report& report) {
  return read_on(by_blocks(executor), "measure", {"g"}, extents_of("g", g), report, g);
}

/// Returns the largest magnitude of a range.
template <class R>
LOWP_HOST_FN amax largest_of(R&& range) {
  gradient_report report;
  refuse_if(measure_on(simd::this_thread{}, range, report));
  return report.largest;
}

}  // namespace detail

/// Returns the factor that reduces the norm of all gradients, now `norm`, to at most max_norm. It
/// is max_norm / (norm + 1e-6), but at most 1, as in torch.nn.utils.clip_grad_norm_. It is 0 if the
/// norm is infinite and NaN if that is NaN: skip such a step.
LOWP_HOST_FN float clip_factor(double norm, double max_norm) {
  detail::default_environment const environment;
  return detail::clip_quotient(norm, max_norm);
}

}  // namespace lowp
