// SPDX-License-Identifier: Apache-2.0
// Encode and decode in integer arithmetic, once for every format, mode and kind of lane.
#pragma once

#include <lowp/format.hpp>
#include <lowp/lanes.hpp>
#include <lowp/overflow.hpp>
#include <lowp/rounding.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace lowp::detail {

/// Where special results go, in lanes and by sign: computed once per call.
template <class U>
struct special_results {
  U overflowed[2], infinite, nan[2], nan_payload;
};

template <format F, class U = std::uint32_t, class R>
LOWP_FN constexpr special_results<U> special_results_of(R const& rounding, overflow policy) {
  using lanes::spread;
  special_codes const codes = special_codes_of<F>(policy);
  return {{spread<U>(rounding.inward(false) ? F.max_code() : codes.overflowed),
           spread<U>(rounding.inward(true) ? F.max_code() : codes.overflowed)},
          spread<U>(codes.infinite),
          {spread<U>(codes.nan[0]), spread<U>(codes.nan[1])},
          spread<U>(codes.nan_payload)};
}

template <class U, class M>
struct encoded {
  U code;
  M overflowed;  ///< finite, and the rounded magnitude exceeds the largest finite value
};

/// An exact magnitude between two codes of F: `lower` is the code toward zero, `fraction` the
/// position between the two. Codes continue beyond the largest finite value.
template <class U>
struct position {
  U lower, fraction;
};

/// The position of significand * 2^(exponent - (K - 1)), where significand < 2^K and has its top
/// bit set unless exponent <= F.min_exponent().
///
///     | whole: bits on F's grid | dropped |
///                        fraction = | 0 | dropped, shifted to the top |
template <format F, int K, bool FineFraction, class U>
LOWP_FN constexpr position<U> locate(U const& exponent, U const& significand) {
  using namespace lanes;
  using word = typename lane<U>::scalar;
  constexpr int width = fraction<U>::bits;
  constexpr word normal_drop = K - F.precision();
  static_assert(F.precision() + 2 <= K && K < width);

  U const zero = spread<U>(0);
  U const above = exponent - static_cast<word>(F.min_exponent());
  U const below = min(max(zero - above, zero), spread<U>(2 * width - normal_drop));
  U const drop = below + normal_drop;
  U const shift = min(drop, spread<U>(width));
  U const whole = significand >> shift;
  U dropped = (significand << (spread<U>(width) - shift)) & fraction<U>::never;
  // More than `width` bits dropped: below one half, and only a random draw asks how far below;
  // every other mode asks whether it is zero.
  if constexpr (FineFraction) dropped = max(dropped >> (drop - shift), min(dropped, spread<U>(1)));

  U const lower = (max(above, zero) << F.significand_bits) + whole;
  if constexpr (F.has_zero()) return {lower, dropped};
  // The code of 2^min_exponent is 0, and nothing is smaller.
  auto const tiny = greater(zero, above);
  return {select(tiny, zero, lower - 1), select(tiny, zero, dropped)};
}

template <class U, class M, class R>
LOWP_FN constexpr U round(position<U> const& p, M const& negative, U const& random,
                          R const& rounding) {
  using namespace lanes;
  auto const away = greater(p.fraction, rounding.threshold(p.lower & 1, negative, random));
  return select(away, p.lower + 1, p.lower);
}

/// A binary32 magnitude rounded to nearest even where reals add as IEEE 754 says: adding a power of
/// two whose ulp is F's smallest subnormal rounds to F's subnormal grid.
template <format F, class U>
LOWP_FN U round_nearest_even(U const& a) {
  using namespace lanes;
  using R = decltype(to_real(a));
  constexpr int drop = 24 - F.precision();
  U const rounded = (a + (((a >> drop) & 1) + ((1u << (drop - 1)) - 1))) >> drop;
  if constexpr (F.min_exponent() == -126) return rounded;
  constexpr auto rebias = static_cast<std::uint32_t>(127 - F.bias) << F.significand_bits;
  constexpr auto aligner =
      static_cast<std::uint32_t>(F.min_exponent() - F.significand_bits + 23 + 127) << 23;
  constexpr auto min_normal = static_cast<std::uint32_t>(F.min_exponent() + 127) << 23;
  U const normal = rounded - rebias;
  U const subnormal = bits(add(from_bits<R>(a), from_bits<R>(spread<U>(aligner)))) - aligner;
  return select(greater(spread<U>(min_normal), a), subnormal, normal);
}

/// The code of a finite value's rounded magnitude. What lies beyond the largest finite value goes to
/// that or to the code after it, so that a minimum finds it.
template <format F, class R, class U, class M>
LOWP_FN constexpr U finish_finite(U const& magnitude, M const& negative,
                                  special_results<U> const& s) {
  using namespace lanes;
  U beyond = s.overflowed[0];
  if constexpr (one_of<R, upward, downward, rounding_mode>)
    beyond = select(negative, s.overflowed[1], beyond);
  U const code = min(magnitude, beyond);
  U const zero = spread<U>(0);
  U const sign = select(negative, spread<U>(F.sign_mask()), zero);
  if constexpr (F.has_negative_zero()) return code | sign;
  return code | select(equal(code, zero), zero, sign);
}

/// The same for any value. `payload` holds the leading bits of a NaN's significand field.
template <format F, class R, class U, class M>
LOWP_FN constexpr encoded<U, M> finish(U const& magnitude, M const& negative, M const& infinite,
                                       M const& nan, U const& payload,
                                       special_results<U> const& s) {
  using namespace lanes;
  U const sign = select(negative, spread<U>(F.sign_mask()), spread<U>(0));
  M const is_nan = F.has_sign ? nan : either(nan, negative);
  U const special = select(is_nan, (payload & s.nan_payload) | select(negative, s.nan[1], s.nan[0]),
                           s.infinite | sign);
  M const overflowed =
      both(greater(magnitude, spread<U>(F.max_code())), negate(either(infinite, nan)));
  return {select(either(infinite, is_nan), special, finish_finite<F, R>(magnitude, negative, s)),
          overflowed};
}

/// binary32 patterns to codes.
template <format F, class U, class R>
LOWP_FN constexpr auto encode(U const& b, U const& random, R const& rounding,
                              special_results<U> const& s) {
  using namespace lanes;
  constexpr int K = 24;
  U const a = b & (binary32_sign - 1);
  auto const negative = greater(spread<U>(0), b);
  using mask = std::remove_cv_t<decltype(negative)>;
  auto const infinite = equal(a, spread<U>(binary32_infinity));
  auto nan = greater(a, spread<U>(binary32_infinity));

  position<U> p{a, a};
  if constexpr (F.min_exponent() == -126) {  // the pattern already is the position
    constexpr int drop = K - F.precision();
    p = {a >> drop, (a << (fraction<U>::bits - drop)) & fraction<U>::never};
  } else if constexpr (F.has_zero()) {
    U const field = a >> 23;
    U const hidden = select(equal(field, spread<U>(0)), spread<U>(0), spread<U>(1u << 23));
    p = locate<F, K, R::is_stochastic>(max(field, spread<U>(1)) - 127, (a & 0x7fffff) | hidden);
  } else {  // reaches below the normal floats: count their leading zeros by converting to float
    U const scaled = bits(to_real(a & 0x7fffff));
    auto const subnormal = greater(spread<U>(1u << 23), a);
    U const exponent = select(subnormal, (scaled >> 23) - (127 + 149), (a >> 23) - 127);
    U const significand = select(subnormal, scaled, a) & 0x7fffff;
    p = locate<F, K, R::is_stochastic>(exponent, significand | (1u << 23));
    nan = either(nan, equal(a, spread<U>(0)));
  }
  U const payload = a >> (23 - F.significand_bits);
  U magnitude = a;
  if constexpr (lane<U>::computes_exactly && std::same_as<R, nearest_even> && F.has_zero())
    magnitude = round_nearest_even<F>(a);
  else
    magnitude = round(p, negative, random, rounding);
  if (F.has_sign && !any(greater(a, spread<U>(binary32_infinity - 1))))
    return encoded<U, mask>{finish_finite<F, R>(magnitude, negative, s),
                            greater(magnitude, spread<U>(F.max_code()))};
  return finish<F, R>(magnitude, negative, infinite, nan, payload, s);
}

/// Codes to binary32 patterns. Exact; a NaN comes out quiet, except where widening is a shift.
template <format F, class U>
LOWP_FN constexpr U decode(U const& code) {
  using namespace lanes;
  constexpr int shift = 23 - F.significand_bits;
  if constexpr (F.is_truncated_binary32()) return code << (32 - F.bits());

  U const magnitude = code & F.magnitude_mask();
  U b = (magnitude << shift) + (static_cast<std::uint32_t>(127 - F.bias) << 23);
  if constexpr (F.has_zero()) {
    constexpr auto scale = static_cast<std::uint32_t>(F.min_exponent() - F.significand_bits) << 23;
    U const scaled =
        select(equal(magnitude, spread<U>(0)), spread<U>(0), bits(to_real(magnitude)) + scale);
    b = select(greater(spread<U>(F.min_normal_code()), magnitude), scaled, b);
  } else {
    b = select(equal(magnitude, spread<U>(0)), spread<U>(1u << 22), b);  // 2^-127 is subnormal
  }
  if constexpr (F.codes == specials::ieee) {
    U const payload = (magnitude & F.significand_mask()) << shift;
    U const special = payload | select(equal(payload, spread<U>(0)), spread<U>(binary32_infinity),
                                       spread<U>(binary32_nan));
    b = select(greater(magnitude, spread<U>(F.max_code())), special, b);
  }
  if constexpr (F.codes == specials::nan_all_ones)
    b = select(equal(magnitude, spread<U>(F.magnitude_mask())), spread<U>(binary32_nan), b);
  if constexpr (F.has_sign) b = b | ((code & F.sign_mask()) << (32 - F.bits()));
  if constexpr (F.codes == specials::nan_negative_zero)
    b = select(equal(code & F.code_mask(), spread<U>(F.nan_code())), spread<U>(binary32_nan), b);
  return b;
}

}  // namespace lowp::detail
