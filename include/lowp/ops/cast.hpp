// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/ops/arguments.hpp>
#include <lowp/simd/dispatch.hpp>

#include <concepts>

namespace lowp {

/// As `input`, or of double or integers of 8 to 64 bits.
template <class R>
concept cast_input = input<R> || (std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                                  detail::plain_number<std::ranges::range_value_t<R>>);
/// As `output`, or of double.
template <class R>
concept cast_output = output<R> || (cast_input<R> && std::ranges::borrowed_range<R> &&
                                    std::same_as<std::ranges::range_reference_t<R>, double&>);
/// At least one of the two holds floats or a narrow type, or both hold double.
template <class In, class Out>
concept castable = cast_input<In> && cast_output<Out> &&
                   (input<In> || output<Out> || std::same_as<element_of<In>, double>);

namespace detail {

template <class In, class Out>
LOWP_FN constexpr void must_be_castable() {
  static_assert(cast_input<In>,
                "an argument does not satisfy 'cast_input': a contiguous sized range of float, a "
                "narrow type, double or integers of 8 to 64 bits");
  static_assert(cast_output<Out>,
                "an argument does not satisfy 'cast_output': a writable contiguous sized range of "
                "float, a narrow type or double, not a temporary");
  static_assert(!cast_input<In> || !cast_output<Out> || castable<In, Out>,
                "the arguments do not satisfy 'castable': integers become float or a narrow type");
}

/// How the elements of a cast from From to To are rounded where they are read, and where they are
/// written. What is not a float becomes one: rounded to odd if it will be rounded again.
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
/// Up to six digits a float has enough for the fraction and a bit that says what is below.
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

/// The element function of a conversion.
struct identity {
  static constexpr bool is_conversion = true;
  template <class F>
  LOWP_FN void operator()(F& to, F const& from) const {
    to = from;
  }
};

struct make_identity {
  LOWP_FN identity operator()() const { return {}; }
};

/// `cast`, where `where` says: simd::this_thread, a team of threads, a GPU. What is wrong is returned,
/// and then nothing was done.
template <class Executor, class In, class Out, class R = nearest_even>
[[nodiscard]] LOWP_HOST_FN error_text cast_on(Executor const& executor, In&& in, Out&& out,
                                              R rounding = {},
                                              overflow policy = default_overflow<element_of<Out>>) {
  must_be_castable<In, Out>();
  must_be_span_rounding<R>();
  using From = element_of<In>;
  using To = element_of<Out>;
  extent const from("in", in), to("out", out);
  error_text wrong = unequal_sizes("cast", {from, to});
  if (wrong.empty()) wrong = partial_overlap("cast", from, to);
  if (wrong.empty()) wrong = out_of_reach(executor, "cast", {from, to});
  if (!wrong.empty()) return wrong;
  auto const* source = std::ranges::data(in);
  if constexpr (std::same_as<From, To>)
    executor.copy(std::ranges::data(out), source, to.size);
  else {
    using read = typename cast_rounding<From, To, R>::read;
    using write = typename cast_rounding<From, To, R>::write;
    executor(
        make_identity{}, to.size, static_cast<simd::no_report*>(nullptr),
        simd::operand<To, simd::access::write, write>{std::ranges::data(out),
                                                      rounding_as<write>(rounding), policy},
        simd::operand<From, simd::access::read, read>{source, rounding_as<read>(rounding), policy});
  }
  return {};
}

}  // namespace detail

/// out[i] = round(in[i]), each element once from its exact value. A cast to the same format copies
/// bits; a NaN keeps its sign and its leading payload bits as far as the format has them.
///
/// @param in   n elements: float, a narrow type, double, or integers of 8 to 64 bits
/// @param out  n elements: float, a narrow type, or double, which takes no integers; may be the storage
///             of `in` where elements have equal size
/// @param rounding  `stochastic` changes no float on its way to float or double. What is wider than a
///             float is drawn for float too
/// @throws std::invalid_argument  sizes differ, or the ranges overlap in another way
template <class In, class Out, span_rounding R = nearest_even>
  requires castable<In, Out>
LOWP_HOST_FN void cast(In&& in, Out&& out, R rounding = {},
                       overflow policy = default_overflow<element_of<Out>>) {
  detail::refuse_if(detail::cast_on(simd::this_thread{}, in, out, rounding, policy));
}

template <class In, class Out, class R = nearest_even, class... Policy>
  requires(!(castable<In, Out> && span_rounding<R>))
void cast(In&&, Out&&, R = {}, Policy...) {
  detail::must_be_castable<In, Out>();
  detail::must_be_span_rounding<R>();
}

}  // namespace lowp
