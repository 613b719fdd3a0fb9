// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/ops/arguments.hpp>
#include <lowp/simd/executors.hpp>

#include <concepts>

namespace lowp {

/// An `input`, or such a range of double or of integers of 8 to 64 bits.
template <class R>
concept cast_input = input<R> || (std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                                  detail::plain_number<std::ranges::range_value_t<R>>);
/// An `output`, or such a range of double.
template <class R>
concept cast_output = output<R> || (cast_input<R> && std::ranges::borrowed_range<R> &&
                                    std::same_as<std::ranges::range_reference_t<R>, double&>);
/// At least one of the two holds floats or a narrow type, or both hold double.
template <class In, class Out>
concept castable = cast_input<In> && cast_output<Out> &&
                   (input<In> || output<Out> || std::same_as<element_of<In>, double>);

namespace detail {

struct an_argument_does_not_satisfy_cast_input;
struct an_argument_does_not_satisfy_cast_output_which_is_writable_and_no_temporary;
struct the_arguments_do_not_satisfy_castable_integers_become_float_or_a_narrow_type;

template <class In, class Out, class R>
using unmet_by_cast = typename first_unmet<
    requirement<cast_input<In>, an_argument_does_not_satisfy_cast_input>,
    requirement<cast_output<Out>,
                an_argument_does_not_satisfy_cast_output_which_is_writable_and_no_temporary>,
    must_be_span_rounding<R>,
    requirement<
        false, the_arguments_do_not_satisfy_castable_integers_become_float_or_a_narrow_type>>::type;

/// The roundings of a cast from From to To, when it reads and when it writes. Reading makes a float
/// of any other number; it rounds to odd if the float will be rounded again.
template <class From, class To, class R>
struct cast_rounding {
  using read =
      std::conditional_t<plain_number<From>,
                         std::conditional_t<narrow<To>, to_be_rounded<to_odd>, R>, nearest_even>;
  using write = R;
};
template <plain_number From, class To, class R>
  requires(has_last_place_of_floats<To> && R::is_stochastic)
struct cast_rounding<From, To, R> {
  using read = to_be_rounded<nearest_away>;
  using write = R;
};
template <class From, class To>
inline constexpr bool is_drawn_when_read = false;
/// A float has room for the fraction and a sticky bit below it if To has at most six digits.
template <plain_number From, element To>
  requires(!is_always_a_float<From>)
inline constexpr bool is_drawn_when_read<From, To> = [] {
  if constexpr (narrow<To>) return To::descriptor.precision() > 6 && !has_last_place_of_floats<To>;
  return true;
}();
template <class From, class To, class R>
  requires(is_drawn_when_read<From, To> && R::is_stochastic)
struct cast_rounding<From, To, R> {
  using read = drawn<To, R>;
  using write = nearest_even;
};

template <class To, class From>
LOWP_HOST_FN To rounding_as([[maybe_unused]] From const& rounding) {
  if constexpr (std::same_as<To, From>)
    return rounding;
  else if constexpr (is_drawn<To>)
    return {rounding};
  else
    return {};
}

/// The element function of a conversion that computes its NaN, as that of a block does, whose scale
/// may be NaN.
struct copy_element {
  LOWP_FN void operator()(auto& to, auto const& from) const { to = from; }
};
/// The element function of any other conversion.
struct identity : copy_element {
  static constexpr bool is_conversion = true;
};

/// The body of `cast`. Returns the error text of a refused call, which has no effect.
template <class Executor, class In, class Out, class R = nearest_even>
[[nodiscard]] LOWP_HOST_FN error_text cast_on(Executor const& executor, In&& in, Out&& out,
                                              R rounding = {},
                                              overflow policy = default_overflow<element_of<Out>>) {
  using From = element_of<In>;
  using To = element_of<Out>;
  extent const from("in", in), to("out", out);
  call_check check("cast");
  check.element_by_element(executor, {from, to});
  if (check.failed()) return check.text();
  auto const* source = std::ranges::data(in);
  if constexpr (std::same_as<From, To>)
    executor.copy(std::ranges::data(out), source, to.size);
  else {
    using read = typename cast_rounding<From, To, R>::read;
    using write = typename cast_rounding<From, To, R>::write;
    executor(
        make<identity>{}, to.size, static_cast<simd::no_report*>(nullptr),
        simd::operand<To, simd::access::write, write>{std::ranges::data(out),
                                                      rounding_as<write>(rounding), policy},
        simd::operand<From, simd::access::read, read>{source, rounding_as<read>(rounding), policy});
  }
  return {};
}

}  // namespace detail

}  // namespace lowp
