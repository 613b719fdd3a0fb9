// SPDX-License-Identifier: Apache-2.0
// Decoding and encoding in integer arithmetic, once for every format, mode and lane type.
#pragma once

#include <lowp/format/overflow.hpp>
#include <lowp/format/rounding.hpp>

namespace lowp::detail {

/// Returns the binary32 pattern of a subnormal magnitude of F, zero included.
template <format F, class U>
LOWP_FN constexpr U decode_subnormal(U const& magnitude) {
  using namespace lanes;
  if constexpr (F.significand_bits == 0) return broadcast<U>(0);
  if constexpr (lane<U>::computes_exactly) {  // 1.m - 1.0, scaled: neither is subnormal in binary32
    using R = decltype(to_real(magnitude));
    constexpr auto one = static_cast<std::uint32_t>(F.min_exponent() + 127) << 23;
    U const with_one = (magnitude << (23 - F.significand_bits)) + one;
    if (!__builtin_is_constant_evaluated())
      return bits(sub(from_bits<R>(with_one), from_bits<R>(broadcast<U>(one))));
  }
  constexpr auto scale = static_cast<std::uint32_t>(F.min_exponent() - F.significand_bits) << 23;
  U const zero = broadcast<U>(0);
  return select(equal(magnitude, zero), zero, bits(to_real(magnitude)) + scale);
}

/// Decodes codes to binary32 patterns. A NaN comes out quiet, except if widening is a shift.
template <format F, class U>
LOWP_FN constexpr U decode(U const& code) {
  using namespace lanes;
  constexpr int shift = 23 - F.significand_bits;
  if constexpr (F.is_truncated_binary32()) return code << (32 - F.bits());

  U const magnitude = code & F.magnitude_mask();
  if constexpr (lane<U>::computes_exactly && std::integral<U> &&
                F.special_values == specials::none && F.has_zero() && F.has_sign && F.bits() < 8 &&
                F.bias > 0) {
    // A GPU multiplies subnormals as fast, and all codes have the same distance from the exponents.
    using R = decltype(to_real(magnitude));
    constexpr auto power = static_cast<std::uint32_t>(254 - F.bias) << 23;
    U const tiny = (magnitude << shift) | ((code << (32 - F.bits())) & binary32_sign);
    if (!__builtin_is_constant_evaluated())
      return bits(mul(from_bits<R>(tiny), from_bits<R>(broadcast<U>(power))));
  }
  U b = (magnitude << shift) + (static_cast<std::uint32_t>(127 - F.bias) << 23);
  if constexpr (F.has_zero())
    b = select(greater(broadcast<U>(F.min_normal_code()), magnitude),
               decode_subnormal<F>(magnitude), b);
  if constexpr (F.min_exponent() == -127)  // subnormal in binary32
    b = select(equal(magnitude, broadcast<U>(F.min_normal_code())), broadcast<U>(1u << 22), b);
  if constexpr (F.special_values == specials::ieee) {
    auto const is_special = greater(magnitude, broadcast<U>(F.max_code()));
    if (any(is_special)) {
      U const payload = (magnitude & F.significand_mask()) << shift;
      U const special =
          payload | select(equal(payload, broadcast<U>(0)), broadcast<U>(binary32_infinity),
                           broadcast<U>(binary32_nan));
      b = select(is_special, special, b);
    }
  }
  if constexpr (F.special_values == specials::p3109_extended)
    b = select(equal(magnitude, broadcast<U>(F.infinity_code())), broadcast<U>(binary32_infinity),
               b);
  if constexpr (F.special_values == specials::nan_all_ones)
    b = select(equal(magnitude, broadcast<U>(F.magnitude_mask())), broadcast<U>(binary32_nan), b);
  if constexpr (F.has_sign) b = b | ((code << (32 - F.bits())) & binary32_sign);
  if constexpr (F.has_one_nan())
    b = select(equal(code & F.code_mask(), broadcast<U>(F.nan_code())), broadcast<U>(binary32_nan),
               b);
  return b;
}

template <class U, class M>
struct encoded {
  U code;
  M overflowed;  ///< finite lanes whose rounded magnitude exceeds the largest finite value
};

/// Returns the code to which a binary32 magnitude rounds. `a` is normal in F, or at least in
/// binary32 if F's exponents reach as far down. Codes continue beyond the largest finite value.
///
///     | exponent field | kept | dropped |
///                            + increment, which carries into the kept bits
template <format F, class U, class M, class R>
LOWP_FN constexpr U round_normal(U const& a, M const& negative, U const& random,
                                 R const& rounding) {
  constexpr int dropped = 24 - F.precision();
  constexpr auto rebias = static_cast<std::uint32_t>(127 - F.bias) << 23;
  // Powers of two are even by their code, the others by the last bit of their significand.
  U const odd = ((F.significand_bits > 0 ? a : a - rebias) >> dropped) & 1;
  return (a - rebias + rounding.template increment<dropped>(odd, negative, random)) >> dropped;
}

/// Returns the code to which a magnitude rounds that is subnormal in F. Its bits above the dropped
/// ones lie on F's subnormal grid.
template <format F, class U, class M, class R>
LOWP_FN constexpr U round_subnormal(U const& a, M const& negative, U const& random,
                                    R const& rounding) {
  using namespace lanes;
  constexpr int width = 31;
  constexpr auto least = static_cast<std::uint32_t>(24 - F.precision());
  constexpr auto min_normal_field = static_cast<std::uint32_t>(F.min_exponent() + 127);
  U const one = broadcast<U>(1);
  U const field = max(a >> 23, one);
  U const significand = a - ((field - 1) << 23);
  U const dropped = min(max(broadcast<U>(least + min_normal_field) - field, broadcast<U>(least)),
                        broadcast<U>(2 * width));
  // With more than `width` dropped bits the fraction is far below one half. A random draw needs its
  // leading bits. The other modes need only know that it is not zero.
  U const shift = min(dropped, broadcast<U>(width));
  U const kept = max(significand >> (dropped - shift), min(significand, one));
  U const odd = (kept >> shift) & 1;
  U const increment = rounding.template increment<width>(odd, negative, random);
  return (kept + (increment >> (broadcast<U>(width) - shift))) >> shift;
}

/// Says that a float has an ulp as large as F's step at 2^Exponent.
template <format F, int Exponent>
inline constexpr bool has_aligner = Exponent - F.significand_bits + 23 <= 127;

/// Rounds a subnormal of F to nearest even, if reals add as IEEE 754 says. Adding a power of two
/// whose ulp is F's smallest subnormal rounds to F's subnormal grid.
template <format F, class U>
LOWP_FN U round_subnormal_by_addition(U const& a) {
  using R = decltype(lanes::to_real(a));
  constexpr auto aligner =
      static_cast<std::uint32_t>(F.min_exponent() - F.significand_bits + 23 + 127) << 23;
  U const there = lanes::broadcast<U>(aligner);
  return lanes::bits(lanes::add(lanes::from_bits<R>(a), lanes::from_bits<R>(there))) - there;
}

/// Rounds a subnormal of F stochastically, if reals multiply as IEEE 754 says. A power of two turns
/// steps of 2^-17 of F's smallest subnormal into integers. For a magnitude that is not subnormal in
/// F, the result has no meaning.
template <format F>
inline constexpr int steps_exponent = 17 + F.significand_bits - F.min_exponent();
template <format F, class U>
LOWP_FN U round_subnormal_by_steps(U const& a, U const& random) {
  using namespace lanes;
  using R = decltype(to_real(a));
  constexpr auto least = static_cast<std::uint32_t>(F.min_exponent() + 127) << 23;
  constexpr auto scale = static_cast<std::uint32_t>(steps_exponent<F> + 127) << 23;
  U const steps =
      to_word(mul(from_bits<R>(min(a, broadcast<U>(least))), from_bits<R>(broadcast<U>(scale))));
  return (((steps + 1) >> 1) + random) >> 16;
}

/// Returns the code to which any binary32 magnitude rounds.
template <format F, class U, class M, class R>
LOWP_FN constexpr U round_magnitude(U const& a, M const& negative, U const& random,
                                    R const& rounding) {
  using namespace lanes;
  constexpr auto least = static_cast<std::uint32_t>(F.min_exponent() + 127) << 23;
  if constexpr (F.min_exponent() == -126) {
    return round_normal<F>(a, negative, random, rounding);
  } else if constexpr (F.min_exponent() == -127) {  // the smallest code is a subnormal binary32
    U normalized = (a << 1) - (1u << 23);
    if constexpr (!F.has_zero()) normalized = max(normalized, broadcast<U>(0));
    auto const subnormal = greater(broadcast<U>(1u << 23), a);
    return round_normal<F>(select(subnormal, normalized, a), negative, random, rounding);
  } else if constexpr (!F.has_zero()) {
    return round_normal<F>(max(a, broadcast<U>(least)), negative, random, rounding);
  } else {
    U const normal = round_normal<F>(a, negative, random, rounding);
    auto const subnormal = greater(broadcast<U>(least), a);
    if constexpr (lane<U>::computes_exactly && std::same_as<R, nearest_even> &&
                  has_aligner<F, F.min_exponent()>) {
      if (!__builtin_is_constant_evaluated())
        return select(subnormal, round_subnormal_by_addition<F>(a), normal);
    } else if constexpr (lane<U>::computes_exactly && draws_bits<R> && steps_exponent<F> <= 127) {
      if (!__builtin_is_constant_evaluated())
        return select(subnormal, round_subnormal_by_steps<F>(a, random), normal);
    }
    return select(subnormal, round_subnormal<F>(a, negative, random, rounding), normal);
  }
}

/// Returns a code with its sign, of 0 or F.sign_mask().
template <format F, class U>
LOWP_FN constexpr U with_sign(U const& code, U const& sign) {
  if constexpr (F.has_negative_zero()) return code | sign;
  U const zero = lanes::broadcast<U>(0);
  return code | lanes::select(lanes::equal(code, zero), zero, sign);
}

/// Returns the code of a finite value from its rounded magnitude. Overflow gives the largest finite
/// value or the code after it, so that a minimum finds it.
template <format F, class R, class U, class M>
LOWP_FN constexpr U finish_finite(U const& magnitude, U const& sign, M const& negative,
                                  special_results<U> const& s) {
  using namespace lanes;
  U beyond = s.overflowed[0];
  if constexpr (overflows_by_sign<R>) beyond = select(negative, s.overflowed[1], beyond);
  if constexpr (F.starts_at_zero())
    return select(mask_and(negative, greater(magnitude, broadcast<U>(0))), s.overflowed[1],
                  min(magnitude, beyond));
  return with_sign<F>(min(magnitude, beyond), sign);
}

template <format F, class R, class U, class M>
LOWP_FN constexpr encoded<U, M> encoded_finite(U const& magnitude, U const& sign, M const& negative,
                                               special_results<U> const& s) {
  return {finish_finite<F, R>(magnitude, sign, negative, s),
          lanes::greater(magnitude, lanes::broadcast<U>(F.max_code()))};
}

/// Encodes any value. `payload` holds the leading bits of a NaN's significand field.
template <format F, class R, class U, class M>
LOWP_FN constexpr encoded<U, M> finish(U const& magnitude, U const& sign, M const& negative,
                                       M const& infinite, M const& nan, U const& payload,
                                       special_results<U> const& s) {
  using namespace lanes;
  M const is_nan = F.has_sign || F.has_zero() ? nan : mask_or(nan, negative);
  U special = select(is_nan, (payload & s.nan_payload) | select(negative, s.nan[1], s.nan[0]),
                     s.infinite | sign);
  if constexpr (F.starts_at_zero())
    special = select(is_nan, s.nan[0], select(negative, s.nan[1], s.infinite));
  M const overflowed =
      mask_and(greater(magnitude, broadcast<U>(F.max_code())), mask_not(mask_or(infinite, nan)));
  return {
      select(mask_or(infinite, is_nan), special, finish_finite<F, R>(magnitude, sign, negative, s)),
      overflowed};
}

/// Says that most packs of ordinary numbers hold a subnormal of F. A test for one does not pay.
template <format F, class U>
inline constexpr bool expects_subnormals =
    lane<U>::computes_exactly && F.has_zero() && F.min_exponent() >= -3;

/// Returns true if all lanes are finite and, unless F's exponents are binary32's, normal in
/// binary32 and F. `a` are the magnitudes of the patterns b.
template <format F, class U>
LOWP_FN constexpr bool all_ordinary(U const& a, [[maybe_unused]] U const& b) {
  using namespace lanes;
  if constexpr (F.min_exponent() == -126) {
    if constexpr (requires { lane<U>::any_special(b); })
      return !lane<U>::any_special(b);
    else
      return !any(greater(a, broadcast<U>(binary32_infinity - 1)));
  } else {  // one comparison: below the least, the subtraction wraps to a large number
    constexpr int field = F.min_exponent() + 127;
    constexpr auto least = static_cast<std::uint32_t>(field > 1 ? field : 1) << 23;
    constexpr std::uint32_t origin = least + binary32_sign;
    return !any(greater(a - origin, broadcast<U>(binary32_infinity - 1 - origin)));
  }
}

/// Encodes binary32 patterns. The caller may say that it looks at the mask of overflow.
template <format F, bool SeesOverflow = false, class U, class R>
LOWP_FN constexpr auto encode(U const& b, U const& random, R const& rounding,
                              special_results<U> const& s) {
  using namespace lanes;
  U const a = b & (binary32_sign - 1);
  auto const negative = greater(broadcast<U>(0), b);
  using mask = std::remove_cv_t<decltype(negative)>;
  // 1. Ordinary numbers of a truncated binary32: the sign may stay where it is.
  if constexpr (F.is_truncated_binary32()) {
    constexpr int dropped = 32 - F.bits();
    constexpr bool tests_both = SeesOverflow && requires { lane<U>::any_special(b, b); };
    if (s.overflow_is_next_code && (tests_both || all_ordinary<F>(a, b))) [[likely]] {
      U const odd = (b >> dropped) & 1;
      U const rounded = b + rounding.template increment<dropped>(odd, negative, random);
      U const code = rounded >> dropped;
      if constexpr (!tests_both)
        return encoded<U, mask>{code,
                                greater(code & F.magnitude_mask(), broadcast<U>(F.max_code()))};
      else if (!lane<U>::any_special(b, rounded)) [[likely]]
        return encoded<U, mask>{code, mask{}};  // none overflows
    }
  }
  // 2. Ordinary numbers of other formats.
  U const sign = (b >> (32 - F.bits())) & F.sign_mask();
  if constexpr (F.has_sign && !expects_subnormals<F, U>)
    if (all_ordinary<F>(a, b)) [[likely]]
      return encoded_finite<F, R>(round_normal<F>(a, negative, random, rounding), sign, negative,
                                  s);
  // 3. Finite numbers, subnormals among them.
  U const magnitude = round_magnitude<F>(a, negative, random, rounding);
  if (F.has_sign && !any(greater(a, broadcast<U>(binary32_infinity - 1)))) [[likely]]
    return encoded_finite<F, R>(magnitude, sign, negative, s);
  // 4. Infinity and NaN, and zero where the format has none.
  auto const infinite = equal(a, broadcast<U>(binary32_infinity));
  auto nan = greater(a, broadcast<U>(binary32_infinity));
  if constexpr (!F.has_zero()) nan = mask_or(nan, equal(a, broadcast<U>(0)));
  // Computed anew: if the mode does not need the mask, only this rare path computes it.
  return finish<F, R>(magnitude, sign, greater(broadcast<U>(0), b), infinite, nan,
                      a >> (23 - F.significand_bits), s);
}

}  // namespace lowp::detail
