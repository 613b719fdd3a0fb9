// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/ops/number.hpp>
#include <lowp/ops/roles.hpp>
#include <lowp/report/amax.hpp>

namespace lowp::detail {

template <class T>
using neither_an_amax_a_rounding_mode_of_ranges_nor_an_overflow_policy =
    fit<std::same_as<T, amax&> ||
        neither_a_rounding_mode_of_ranges_nor_an_overflow_policy<T>::value>;

/// to = from * scale. Returns `from`, which an amax measures.
struct scaling {
  static constexpr char const* argument = "scale";
  static constexpr number_range range = not_zero;

  float scale;

  template <class F>
  LOWP_FN F operator()(F& to, F const& from) const {
    to = lanes::mul(from, lanes::broadcast<F>(scale));
    return from;
  }
};

/// Converts with a scale: out[i] = round(in[i] * scale). One multiplication in float, rounded to
/// nearest even, then one rounding to the format of `out`. The product is exact if the scale is a
/// power of two and the product normal. A NaN result is the canonical one.
///
/// @param scale    finite and not 0, also as a float
/// @param largest  optional; merges the largest |in[i]| in the same pass, without NaN
template <class Executor>
struct scaled_cast_operation : operation<Executor> {
  using calls =
      call<needs<names::in, neither_a_range_of_float_or_a_narrow_type_nor_packed>,
           needs<names::out, neither_a_lasting_writable_range_of_float_or_a_narrow_type_nor_packed>,
           needs<names::scale, not_a_number_to_scale_by>,
           may_have<3, names::largest_rounding_or_overflow,
                    neither_an_amax_a_rounding_mode_of_ranges_nor_an_overflow_policy>>;

  template <any_input In, any_output Out, number_argument Scale, range_rounding R = nearest_even>
  LOWP_HOST_FN void operator()(In&& in, Out&& out, Scale scale, R rounding = {},
                               overflow policy = default_overflow<element_of<Out>>) const {
    run(this->executor, "scaled_cast", make_of<scaling>(scale), no_report,
        write("out", out, rounding, policy), read("in", in));
  }
  template <any_input In, any_output Out, number_argument Scale, range_rounding R = nearest_even>
  LOWP_HOST_FN void operator()(In&& in, Out&& out, Scale scale, amax& largest, R rounding = {},
                               overflow policy = default_overflow<element_of<Out>>) const {
    run(this->executor, "scaled_cast", make_of<scaling>(scale), &largest,
        write("out", out, rounding, policy), read("in", in));
  }
};

}  // namespace lowp::detail

namespace lowp {
inline constexpr detail::callable<detail::scaled_cast_operation<simd::this_thread>> scaled_cast{};
}  // namespace lowp
