// SPDX-License-Identifier: Apache-2.0
// A projection whose result leaves the range of a format. A power of two keeps it inside:
//
//     y = 2^k (W (2^-k x))
//
//     int const k = projection_exponent<float16>(measure(y_sample).largest);  // once, in float
//     scaling_report lost;
//     scale_by_power_of_two(x, small, -k, lost);      // float16
//     multiply(w, small, y);                          // the caller's, float16 in and out
//     scale_by_power_of_two(y, residual, k);          // float, or bfloat16: the wider stream
//
// y is what a float16 with more exponents would give: to the bit, if lost.lossless().
#pragma once

#include <lowp/format/math.hpp>
#include <lowp/measure/census/census_lanes.hpp>
#include <lowp/ops/number.hpp>
#include <lowp/ops/roles.hpp>
#include <lowp/storage/scale.hpp>

namespace lowp {

/// Counts over ranges that were multiplied by powers of two. All zero bytes are an empty report.
struct scaling_report {
  std::uint64_t count = 0;       ///< elements seen
  std::uint64_t overflowed = 0;  ///< finite elements that overflow once scaled and rounded
  std::uint64_t inexact = 0;     ///< elements that lost a bit as subnormals or in a narrower format

  /// Returns true if scaling back restores every element.
  LOWP_FN constexpr bool lossless() const { return overflowed == 0 && inexact == 0; }

  template <class Atomics = detail::alone>
  LOWP_FN constexpr void add(scaling_report const& other, Atomics const& atomics = {}) {
    atomics.add(count, other.count);
    atomics.add(overflowed, other.overflowed);
    atomics.add(inexact, other.inexact);
  }
};

namespace detail {

template <class F>
struct scaling_outcome {
  lanes::mask<F> overflowed, inexact;

  LOWP_FN friend scaling_outcome only(lanes::mask<F> const& is_element, scaling_outcome const& x) {
    return {lanes::mask_and(is_element, x.overflowed), lanes::mask_and(is_element, x.inexact)};
  }
};

template <class F>
class scaling_lanes {
 public:
  LOWP_FN void add(scaling_outcome<F> const& x) {
    overflowed_ += lanes::count(x.overflowed);
    inexact_ += lanes::count(x.inexact);
  }
  LOWP_FN scaling_report total(std::uint64_t count) const { return {count, overflowed_, inexact_}; }

 private:
  lane_counter<F> overflowed_ = 0, inexact_ = 0;
};

template <class F>
struct lanes_of_report<scaling_report, F> : std::type_identity<scaling_lanes<F>> {};

/// to = from * 2^k. Returns the overflow and the inexactness of the product in T.
template <census_target T>
struct reported_scaling {
  float scale, inverse = lanes::from_bits<float>((254u << 23) - lanes::bits(scale));

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

template <class Function>
struct make_power_of_two {
  int exponent;

  LOWP_FN Function operator()() const { return {power_of_two(exponent)}; }
  [[nodiscard]] LOWP_HOST_FN error_text check(char const* function) const {
    // Powers up to this one and their inverses are normal floats.
    if (exponent >= -126 && exponent <= 126) return {};
    return joined_text(
        {function, ": exponent is ", shortest_text(exponent).text, ", not in [-126, 126]"});
  }
};

/// Multiplies: out[i] = in[i] * 2^exponent, rounded once to nearest even. The product is exact,
/// unless `out` has fewer bits or no normal number as small, or it is below 2^-126.
///
/// @param exponent  from -126 to 126
/// @param report    optional; the call adds the numbers of overflowed and of inexact elements
template <class Executor>
struct scale_by_power_of_two_operation : operation<Executor> {
  using calls = call<needs_input<names::in>, needs_output<names::out>,
                     needs_number<names::exponent>, may_have_report<scaling_report>>;

  LOWP_HOST_FN void operator()(input auto&& in, output auto&& out, int exponent) const {
    run(this->executor, "scale_by_power_of_two", make_power_of_two<scaling>{exponent}, no_report,
        write("out", out), read("in", in));
  }
  template <input In, output Out>
    requires census_target<element_of<Out>>
  LOWP_HOST_FN void operator()(In&& in, Out&& out, int exponent, scaling_report& report) const {
    run(this->executor, "scale_by_power_of_two",
        make_power_of_two<reported_scaling<element_of<Out>>>{exponent}, &report, write("out", out),
        read("in", in));
  }
};

}  // namespace detail

}  // namespace lowp

LOWP_ON_THIS_THREAD(scale_by_power_of_two)

namespace lowp::functions {

/// Returns the least k >= 0 with 2^-k largest at most T's largest finite value over 2^headroom.
///
/// @param largest   result of the projection in float or bfloat16; if infinite, k is 0
/// @param headroom  other inputs may give results of up to 2^headroom times `largest`
/// @throws std::invalid_argument  `largest` is NaN; in device code k is 0
template <scalable T>
LOWP_FN constexpr int projection_exponent(amax const& largest, int headroom = 1) {
  detail::refuse_nan(largest, "projection_exponent: largest");
  int const k = 127 - static_cast<int>(lanes::bits(power_of_two_scale<T>(largest, headroom)) >> 23);
  return k > 0 ? k : 0;
}

}  // namespace lowp::functions
