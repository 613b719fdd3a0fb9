// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/format/math.hpp>
#include <lowp/measure/census/census_lanes.hpp>
#include <lowp/nn/scaling_report.hpp>
#include <lowp/ops/scaled_cast.hpp>
#include <lowp/storage/scale.hpp>

#include <cstdint>
#include <string>

namespace lowp::detail {

inline constexpr int most_scaling_exponent = 126;  // its power and the inverse are normal floats

/// to = from * 2^k. Returns the overflow and the inexactness of the product in T.
template <census_target T>
struct reported_scaling {
  float scale, inverse;

  template <class F>
  LOWP_FN scaling_outcome<F> operator()(F& to, F const& from) const {
    using U = lanes::word<F>;
    constexpr std::uint32_t border = borders_of<T>.overflow;
    to = lanes::mul(from, lanes::broadcast<F>(scale));
    U const product = lanes::hidden(lanes::magnitude(to));
    auto const is_number = lanes::is_finite(from);
    auto const overflows =
        lanes::mask_and(is_number, lanes::greater(product, lanes::broadcast<U>(border - 1)));
    // Scaled back by a power of two, the rounded product is the input if nothing was lost.
    auto const has_result = lanes::mask_and(is_number, lanes::mask_not(overflows));
    U const kept = lanes::select(has_result, product, lanes::broadcast<U>(0));
    F const back = lanes::mul(rounded_magnitude<T, F>(kept), lanes::broadcast<F>(inverse));
    auto const is_same = lanes::equal(lanes::bits(back), lanes::magnitude(from));
    return {overflows, lanes::mask_and(has_result, lanes::mask_not(is_same))};
  }
};

template <census_target T>
struct make_reported_scaling {
  int exponent;
  LOWP_FN reported_scaling<T> operator()() const {
    return {power_of_two(exponent), power_of_two(-exponent)};
  }
};

/// The bodies of `scale_by_power_of_two`. Each returns the error text of a refused call.
template <class Executor, class In, class Out, class Report = simd::no_report>
[[nodiscard]] LOWP_HOST_FN error_text power_of_two_on(Executor const& executor, In&& in, Out&& out,
                                                      int exponent, Report* report = nullptr) {
  using T = element_of<Out>;
  extent const from("in", in), to("out", out);
  call_check check("scale_by_power_of_two");
  if (exponent < -most_scaling_exponent || exponent > most_scaling_exponent)
    check.add(std::string(check.function()) + ": exponent is " + std::to_string(exponent) +
              ", not in [" + std::to_string(-most_scaling_exponent) + ", " +
              std::to_string(most_scaling_exponent) + "]");
  check.element_by_element(executor, {from, to});
  if (check.failed()) return check.text();
  simd::operand<T, simd::access::write> const written{std::ranges::data(out)};
  simd::operand<element_of<In>, simd::access::read> const read{std::ranges::data(in)};
  if constexpr (std::same_as<Report, simd::no_report>)
    executor(make_scaling{power_of_two(exponent)}, to.size, report, written, read);
  else
    executor(make_reported_scaling<T>{exponent}, to.size, report, written, read);
  return {};
}
template <class Executor, class In, class Out>
[[nodiscard]] LOWP_HOST_FN error_text power_of_two_on(Executor const& executor, In&& in, Out&& out,
                                                      int exponent, scaling_report& report) {
  return power_of_two_on(executor, in, out, exponent, &report);
}

}  // namespace lowp::detail

namespace lowp::functions {

/// Returns the least k >= 0 for which 2^-k |y| is at most T's largest finite value over 2^headroom,
/// for every |y| <= largest.
///
/// @param largest   result of the projection in float or bfloat16; if infinite or NaN, k is 0
/// @param headroom  other inputs may give results of up to 2^headroom times `largest`
template <scalable T>
LOWP_FN constexpr int projection_exponent(amax const& largest, int headroom = 1) {
  int const k = 127 - static_cast<int>(lanes::bits(power_of_two_scale<T>(largest, headroom)) >> 23);
  return k > 0 ? k : 0;
}

}  // namespace lowp::functions
