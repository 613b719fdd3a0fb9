// SPDX-License-Identifier: Apache-2.0
// The parts of this folder's layouts. A layout spreads one value over several codes:
//
//     parts                        std::tuple of the element types, one code each
//     reads(part)                  true if the value depends on this part
//     rounded                      the part that takes the caller's rounding mode
//     working                      the part that a model reads, if there are others
//     rounded_element              the element type that takes the caller's overflow policy
//     codec<U>(layout, rounding, policy, nans)
//         decode<F>(codes)                            -> the value
//         encode(value, random, rounding, codes)      -> the mask of overflow
//         decode_new<F>(codes)                        -> the value of codes just written,
//                                                        if `decode` would give another one
//         is_finite_with_code()    optional, for one part: true if a new value is finite as its
//                                  code is
//     holds_small                  optional: true if no magnitude below 256 overflows
//
// U are words in lanes and F the matching reals, so that one text serves packs and GPU threads.
#pragma once

#include <lowp/format/nonfinite_codes.hpp>

// Storages take these from here.
#include <span>
#include <tuple>

namespace lowp::detail {

template <class R>
struct narrow_array {
  using type = std::remove_cvref_t<decltype(*std::declval<R&>().data())>;
  static_assert(narrow<type>,
                "this array of the storage holds a narrow type: bfloat16, float16, ...");
};
template <class R>
using narrow_in = typename narrow_array<std::remove_reference_t<R>>::type;

/// A type for the high half of a master, or for a value beside its error.
template <class T>
concept with_ieee_specials = narrow<T> && T::descriptor.special_values == specials::ieee;

/// The members that most layouts have.
template <element First, element... More>
struct layout_of_parts {
  using parts = std::tuple<explicit_of<First>, explicit_of<More>...>;
  LOWP_FN static constexpr bool reads(std::size_t) { return true; }
  static constexpr int rounded = 0;
  using rounded_element = First;
};

/// A type with the size of codes of no format, which carries them.
template <class Code>
using carrier_of = std::conditional_t<sizeof(Code) == 2, bfloat16, float8_e5m2>;

/// The members above.
template <class L>
concept storage_layout = requires {
  typename L::parts;
  { L::reads(0) } -> std::same_as<bool>;
  { L::rounded } -> std::convertible_to<int>;
  typename L::rounded_element;
  typename L::template codec<std::uint32_t>;
};

template <class F, class Codec, class U, std::size_t N>
LOWP_FN F written_value(Codec const& codec, U const (&codes)[N]) {
  if constexpr (requires { codec.template decode_new<F>(codes); })
    return codec.template decode_new<F>(codes);
  else
    return codec.template decode<F>(codes);
}

template <element T, class U>
struct part_codec {
  special_results<U> results;

  LOWP_FN part_codec(auto const& rounding, overflow policy, nans kind)
      : results(special_results_of<T::descriptor, U>(rounding, policy, kind)) {}

  template <class F>
  LOWP_FN static F decode(U const& code) {
    return lanes::from_bits<F>(detail::decode<T::descriptor>(code));
  }
  LOWP_FN auto encode(auto const& x, U const& random, auto const& rounding) const {
    return detail::encode<T::descriptor>(lanes::bits(x), random, rounding, results);
  }
};

template <class U>
struct part_codec<float, U> {
  LOWP_FN part_codec(auto const&, overflow, nans) {}

  template <class F>
  LOWP_FN static F decode(U const& code) {
    return lanes::from_bits<F>(code);
  }
  LOWP_FN auto encode(auto const& x, U const&, auto const&) const {
    U const zero = lanes::broadcast<U>(0);
    auto const never = lanes::greater(zero, zero);
    return encoded<U, std::remove_cv_t<decltype(never)>>{lanes::bits(lanes::canonical(x)), never};
  }
};

/// Returns a number rounded to T, to nearest even. A NaN becomes the canonical one.
template <element T, class F>
LOWP_FN F rounded_to(F const& x) {
  using U = lanes::word<F>;
  part_codec<T, U> const codec(nearest_even{}, default_overflow<T>, nans::canonical);
  return codec.template decode<F>(codec.encode(x, lanes::broadcast<U>(0), nearest_even{}).code);
}

LOWP_EXACT_BEGIN

/// Rounds magnitudes below 2^23 to integers; 0 for NaN. Both nearest modes do so as floor(x + 0.5f)
/// does in float: it also takes the largest float below one half for one half. `tie` is 1 where a
/// tie goes away from zero, and -1 where it does not.
template <class F, class R>
LOWP_FN lanes::word<F> integer_code(F const& magnitude, lanes::mask<F> const& is_negative,
                                    lanes::word<F> const& tie, lanes::word<F> const& random,
                                    R const& rounding) {
  using namespace lanes;
  using U = word<F>;
  constexpr int width = 24;
  constexpr std::uint32_t half = 1u << (width - 1);
  F const size = select(is_nan(magnitude), broadcast<F>(0), magnitude);
  U const whole = to_word(size);
  F const rest = sub(size, to_real(whole));
  U fraction = to_word(mul(rest, broadcast<F>(static_cast<float>(1u << width))));
  // Any remainder counts for a directed mode.
  fraction = select(equal(bits(rest), broadcast<U>(0)), fraction, max(fraction, broadcast<U>(1)));
  auto const is_tie =
      mask_or(equal(fraction, broadcast<U>(half)), equal(bits(rest), broadcast<U>(bits(0.5f) - 1)));
  fraction = select(is_tie, broadcast<U>(half) + tie, fraction);
  return whole +
         ((fraction + rounding.template increment<width>(whole & 1, is_negative, random)) >> width);
}

LOWP_EXACT_END

}  // namespace lowp::detail
