// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/ops/roles.hpp>

namespace lowp {

/// An `any_input`, or a range of double or of integers of 8 to 64 bits.
template <class R>
concept cast_input =
    any_input<R> || (detail::array_range<R> && detail::plain_number<std::ranges::range_value_t<R>>);
/// An `any_output`, or a range of double.
template <class R>
concept cast_output = any_output<R> || (detail::lasting_array<R> &&
                                        std::same_as<std::ranges::range_value_t<R>, double>);
/// At least one of the two holds floats or a narrow type, or both hold double.
template <class In, class Out>
concept castable = cast_input<In> && cast_output<Out> &&
                   (any_input<In> || any_output<Out> || std::same_as<element_of<In>, double>);

namespace detail {

template <class T>
using not_a_range_of_float_narrow_double_or_integers_such_as_std_span_x_data_x_size =
    fit<cast_input<T>>;
template <class T>
using not_a_lasting_writable_range_of_float_narrow_or_double_such_as_std_span_x_data_x_size =
    fit<cast_output<T>>;
struct because_integers_become_float_or_narrow_and_a_policy_follows_the_rounding;

/// Says that a cast draws random bits when it reads. A float has room for the fraction and a sticky
/// bit below it if To has at most six digits.
template <class From, class To, class R>
inline constexpr bool draws_when_read = [] {
  if constexpr (!plain_number<From> || is_always_a_float<From> || !element<To> || !R::is_stochastic)
    return false;
  else if constexpr (narrow<To>)
    return To::descriptor.precision() > 6 && !has_last_place_of_floats<To>;
  else
    return true;
}();

/// Returns the rounding of a cast when it reads. Reading makes a float of any other number; it
/// rounds to odd if the float will be rounded again.
template <class From, class To, class R>
LOWP_HOST_FN auto rounding_when_read([[maybe_unused]] R const& rounding) {
  if constexpr (!plain_number<From>)
    return nearest_even{};
  else if constexpr (draws_when_read<From, To, R>)
    return stochastic_when_read<To, R>{rounding};
  else if constexpr (has_last_place_of_floats<To> && R::is_stochastic)
    return intermediate_rounding<nearest_away>{};
  else if constexpr (narrow<To>)
    return intermediate_rounding<to_odd>{};
  else
    return rounding;
}
/// Returns the rounding of a cast when it writes.
template <class From, class To, class R>
LOWP_HOST_FN auto rounding_when_written([[maybe_unused]] R const& rounding) {
  if constexpr (draws_when_read<From, To, R>)
    return nearest_even{};
  else
    return rounding;
}

/// The element function of a conversion that computes its NaN. A block's scale may be NaN.
struct copy_element {
  static constexpr bool copies = true;

  LOWP_FN void operator()(auto& to, auto const& from) const { to = from; }
};
/// The element function of any other conversion.
struct identity : copy_element {
  static constexpr bool is_conversion = true;
};

/// Converts: out[i] = round(in[i]), each element rounded once from its exact value.
///
/// A cast to the same format copies bits. A NaN keeps its sign, and its leading payload bits as far
/// as the format has them. `stochastic` does not change a float that becomes float or double.
/// Storage of the ranges, and errors: ops/roles.hpp.
///
/// @param in   n elements: float, a narrow type, double, or integers of 8 to 64 bits
/// @param out  n elements: float, a narrow type, or double, which takes no integers
template <class Executor>
struct cast_operation : operation<Executor> {
  using calls = call_unless<
      because_integers_become_float_or_narrow_and_a_policy_follows_the_rounding,
      needs<names::in,
            not_a_range_of_float_narrow_double_or_integers_such_as_std_span_x_data_x_size>,
      needs<names::out,
            not_a_lasting_writable_range_of_float_narrow_or_double_such_as_std_span_x_data_x_size>,
      may_have_rounding_then_policy>;

  template <class In, class Out, range_rounding R = nearest_even>
    requires castable<In, Out>
  LOWP_HOST_FN void operator()(In&& in, Out&& out, R rounding = {},
                               overflow policy = default_overflow<element_of<Out>>) const {
    using From = explicit_of<element_of<In>>;
    using To = explicit_of<element_of<Out>>;
    auto const from = read("in", in, rounding_when_read<From, To>(rounding), policy);
    auto const to = write("out", out, rounding_when_written<From, To>(rounding), policy);
    if (!is_right(this->executor, "cast", make<identity>{}, to, from)) return;
    if constexpr (std::same_as<From, To> && !packed_range<In> && !packed_range<Out>)
      this->executor.copy(explicit_data(std::ranges::data(out)),
                          explicit_data(std::ranges::data(in)), std::ranges::size(out));
    else
      this->executor(call_of(make<identity>{}, no_report, to, from));
  }
};

}  // namespace detail

}  // namespace lowp

LOWP_ON_THIS_THREAD(cast)

namespace lowp::simd {
#define LOWP_COMPILED_CAST(part, From, To, R)                            \
  LOWP_COMPILED_CALL(                                                    \
      part, compiled_elements<detail::make<detail::identity>, no_report, \
                              operand<To, access::write, R>, operand<From, access::read>>)
LOWP_COMPILED_CASTS(LOWP_COMPILED_CAST)
#undef LOWP_COMPILED_CAST
}  // namespace lowp::simd
