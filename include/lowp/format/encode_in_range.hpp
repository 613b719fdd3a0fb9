// SPDX-License-Identifier: Apache-2.0
// Encoding of values that cannot overflow, without a branch. A GPU's thread tests eight at once.
#pragma once

#include <lowp/format/codec.hpp>

namespace lowp::detail {

/// Returns a magnitude up to F's largest finite value in 2^-17 of F's steps, which are its code's.
/// Normal and subnormal numbers take one addition, of a power of two whose ulp is that unit. One
/// unit more makes up for truncation.
template <format F, class U, class R>
LOWP_FN U steps_by_addition(U const& b, R const& magnitude) {
  using namespace lanes;
  constexpr int above = 6 - F.significand_bits;  // exponent of the addend less that of b
  static_assert(above > 0);
  constexpr auto more = static_cast<std::uint32_t>(above) << 23;
  constexpr auto least = (static_cast<std::uint32_t>(F.min_exponent() + 127) << 23) + more;
  U const addend = max((b & binary32_infinity) + more, broadcast<U>(least));
  U const sum = bits(lane<R>::add_toward_zero(magnitude, from_bits<R>(addend)));
  return (addend >> above) + (sum - addend + hidden(broadcast<U>(1 - (least >> above))));
}

/// Returns a power of two whose ulp is F's step at a magnitude up to F's largest finite value. The
/// sum of both is rounded to nearest even, on F's subnormal grid too. An even number of ulps more
/// makes up for the exponent's origin in the code, modulo 256.
template <format F, class U>
LOWP_FN U addend_of_step(U const& a) {
  using namespace lanes;
  constexpr std::uint32_t dropped = 23 - F.significand_bits;
  constexpr auto least = static_cast<std::uint32_t>(F.min_exponent() + 127);
  constexpr std::uint32_t offset = (0 - ((least + dropped) << F.significand_bits)) & 0xff;
  static_assert(offset % 2 == 0);
  constexpr std::uint32_t more = (dropped << 23) + offset;
  return max((a & binary32_infinity) + more, broadcast<U>((least << 23) + more));
}

/// Rounds a magnitude up to F's largest finite value to nearest even. The low byte of the result is
/// the code; the other bits have no meaning.
template <format F, class U>
LOWP_FN U round_in_range_to_nearest(U const& a) {
  using R = decltype(lanes::to_real(a));
  U const addend = addend_of_step<F>(a);
  return lanes::bits(lanes::add(lanes::from_bits<R>(a), lanes::from_bits<R>(addend))) +
         (addend >> (23 - F.significand_bits));
}

/// Rounds a magnitude up to F's largest finite value stochastically, normal or not. Codes in steps
/// of 2^-16 are the smaller of two lines: that of subnormals, and that of normal patterns. The
/// number before 0.5 rounds half up. 0.5 itself would round the number before it up, too.
template <format F>
inline constexpr int steps_below_one = 16 + F.significand_bits - F.min_exponent();
template <format F, class U>
LOWP_FN U round_in_range_by_steps(U const& a, U const& random) {
  using namespace lanes;
  using R = decltype(to_real(a));
  constexpr int below_step = 23 - F.significand_bits - 16;
  constexpr auto least = static_cast<std::uint32_t>(F.min_exponent() + 127) << 23;
  constexpr std::uint32_t half = 1u << (below_step - 1);
  constexpr auto rebias = static_cast<std::uint32_t>(127 - F.bias) << 23;
  constexpr auto scale = static_cast<float>(1u << steps_below_one<F>);
  U const of_subnormal =
      to_word(fma(from_bits<R>(a), broadcast<R>(scale), broadcast<R>(0x1.fffffep-2f)));
  U const of_normal = (max(a, broadcast<U>(least)) - (rebias - half)) >> below_step;
  return (min(of_subnormal, of_normal) + random) >> 16;
}

/// Says that U is a pack that adds as IEEE 754 says. A GPU's thread selects by one instruction.
template <class U>
concept exact_pack = lane<U>::computes_exactly && !std::integral<U>;

/// Returns the signs of binary32 patterns, in their codes.
template <format F, class U>
LOWP_FN constexpr U sign_of(U const& b) {
  return (b >> (32 - F.bits())) & F.sign_mask();
}

/// Returns the magnitudes of codes, of magnitudes up to F's largest finite value.
template <format F, class U, class M, class R>
LOWP_FN constexpr U round_in_range(U const& a, M const& negative, U const& random,
                                   R const& rounding) {
  using real = decltype(lanes::to_real(a));
  constexpr bool is_of_bytes = F.bits() <= 8 && F.significand_bits > 0;
  if constexpr (draws_bits<R> && F.significand_bits < 6 &&
                F.max_exponent() + 6 - F.significand_bits <= 127 &&
                requires(real x) { lane<real>::add_toward_zero(x, x); })
    return (steps_by_addition<F>(a, lanes::from_bits<real>(a)) + (random << 1)) >> 17;
  else if constexpr (exact_pack<U> && draws_bits<R> && expects_subnormals<F, U> && is_of_bytes &&
                     steps_below_one<F> >= 0 && steps_below_one<F> + F.max_exponent() < 30)
    return round_in_range_by_steps<F>(a, random);
  else if constexpr (lane<U>::computes_exactly && std::same_as<R, nearest_even> && is_of_bytes &&
                     has_aligner<F, F.max_exponent()>)
    return round_in_range_to_nearest<F>(a) & F.magnitude_mask();
  else
    return round_magnitude<F>(a, negative, random, rounding);
}

/// Tables that round to nearest even, for a format of three exponents and three significand codes
/// each. Addend e % 16 is for numbers with the exponent field e: a power of two whose ulp is F's
/// step there, and six ulps more for each longer step. The low four bits of such a sum then tell
/// each code. A number far below one step may take a longer one, and rounds to zero as well.
template <format F>
struct small_tables {
  std::array<std::uint32_t, 16> addends{};
  std::array<std::uint32_t, 32> codes{};  ///< of a sum's low bits, followed by its sign

  constexpr small_tables() {
    constexpr auto ulp = static_cast<std::uint32_t>(F.min_exponent() - F.significand_bits + 150);
    for (std::uint32_t& addend : addends) addend = ulp << 23;
    for (std::uint32_t k = 0; k < 3; ++k) {
      auto const field = static_cast<std::uint32_t>(F.min_exponent() + 127) + k;
      addends[field % 16] = ((ulp + k) << 23) + 6 * k;
      for (std::uint32_t steps = k == 0 ? 0 : 2; steps < (k == 2 ? 4 : 5); ++steps)
        for (std::uint32_t sign = 0; sign < 2; ++sign)
          codes[2 * (6 * k + steps) + sign] = 2 * k + steps + sign * F.sign_mask();
    }
    codes[13] = codes[25] = F.sign_mask();  // zero steps of a longer one
  }
};
template <format F>
inline constexpr small_tables<F> tables_of;

/// Says that encode_small works: lanes can index a register.
template <format F, class U>
inline constexpr bool has_small_codes =
    F.bits() == 4 && F.significand_bits == 1 && F.max_exponent() - F.min_exponent() == 2 &&
    F.has_negative_zero() && has_aligner<F, F.max_exponent()> &&
    requires(U u) { lane<U>::choose(tables_of<F>.codes, u); };

/// Says that encode_nibbles works: one instruction of a GPU permutes bytes.
template <format F, class U>
inline constexpr bool has_nibbles =
    F.bits() == 4 && F.significand_bits == 1 && F.min_exponent() == 0 && F.max_exponent() == 2 &&
    F.has_negative_zero() && requires(U const (&u)[8]) { lane<U>::template gathered<0>(u, 0); };

/// The least magnitude that encode_small or encode_nibbles does not take. Half a step beyond F's
/// largest finite value rounds to no code. Up to one step beyond it, encode_nibbles saturates.
template <format F, class U>
inline constexpr std::uint32_t beyond_small_codes =
    has_small_codes<F, U> ? decode<F>(F.max_code()) + (1u << 21)
    : has_nibbles<F, U>   ? decode<F>(F.max_code()) + (1u << 22)
                          : 0;

/// Returns the codes of binary32 patterns below beyond_small_codes, rounded to nearest even.
template <format F, class U>
LOWP_FN U encode_small(U const& b) {
  using namespace lanes;
  using R = decltype(to_real(b));
  U const addend = lane<U>::choose(tables_of<F>.addends, b >> 23) | (b & binary32_sign);
  U const sum = bits(add(from_bits<R>(b), from_bits<R>(addend)));
  return lane<U>::choose(tables_of<F>.codes, sum << 1 | sum >> 31);
}

/// The signs of eight numbers, as encode_nibbles takes them: the top bits of a word's bytes.
template <class U>
struct nibble_signs {
  U even, odd;  ///< those of numbers 0 2 4 6, and 1 3 5 7
};
template <class R>
LOWP_FN auto signs_for_nibbles(R const (&x)[8]) {
  using U = lanes::word<R>;
  U b[8];
  LOWP_UNROLL_ON_GPU
  for (int k = 0; k < 8; ++k) b[k] = lanes::bits(x[k]);
  return nibble_signs<U>{lane<U>::template gathered<3>(b, 0), lane<U>::template gathered<3>(b, 1)};
}

/// Returns the codes of eight magnitudes below beyond_small_codes, with these signs.
///
/// Adds to each magnitude a multiple of p, the power of two below it, at least 1. F's step there is
/// p / 2. To nearest, 2^22 p has this step as its ulp. For random bits, 2^5 p has 2^-17 of it, and
/// 2^-18 p is half of 2^-16 of it. One more p makes up for the exponent's origin. The low bits of
/// the sum have the code; for random bits, those from bit 17 on have it.
template <format F, class R, class Mode>
LOWP_FN lanes::word<R> encode_nibbles(R const (&a)[8], nibble_signs<lanes::word<R>> const& signs,
                                      Mode const&, auto const& random) {
  using namespace lanes;
  using U = word<R>;
  constexpr bool draws = draws_bits<Mode>;
  U code[8];
  LOWP_UNROLL_ON_GPU
  for (int k = 0; k < 8; ++k) {
    U const power = max(bits(a[k]) & binary32_infinity, broadcast<U>(bits(1.0f)));
    R const below = from_bits<R>(power);
    if constexpr (draws)
      code[k] = bits(lane<R>::fma_toward_zero(below, 0x1p5f + 1 + 0x1p-18f, a[k])) + (power >> 5) +
                (random(k) << 1);
    else
      code[k] = bits(fma(below, broadcast<R>(0x1p22f + 1), a[k])) + (power >> 22);
  }
  constexpr int byte = draws ? 2 : 0;
  U const even = lane<U>::template gathered<byte>(code, 0);
  U const odd = lane<U>::template gathered<byte>(code, 1);
  U codes = even + (odd << 4);
  if constexpr (draws) codes = (even >> 1 & 0x0f0f0f0f) | (odd << 3 & 0xf0f0f0f0);
  codes = codes - ((codes & 0x88888888) >> 3);
  return codes | (signs.even >> 4 & 0x08080808) | (signs.odd & 0x80808080);
}

/// Says that encode_bytes works.
template <class T, class R>
inline constexpr bool has_bytes = requires(R x) {
  requires T::descriptor.bits() == 8 && T::descriptor.significand_bits < 6;
  requires T::descriptor.has_negative_zero();
  requires T::descriptor.max_exponent() + 6 - T::descriptor.significand_bits <= 127;
  lane<R>::add_toward_zero(x, x);
};
/// Returns the codes of four numbers up to T's largest finite value, rounded stochastically. The
/// first one takes the bits of element `first`. Codes keep their sign, so T has a negative zero.
template <class T, class R>
LOWP_FN auto encode_bytes(R const* x, auto const& random, int first) {
  using U = lanes::word<R>;
  U code[8] = {};
  LOWP_UNROLL_ON_GPU
  for (int k = 0; k < 4; ++k) {
    U const b = lanes::bits(x[k]);
    U const steps = steps_by_addition<T::descriptor>(b, lane<R>::absolute(x[k]));
    code[2 * k] = (b & lanes::binary32_sign) | ((steps << 7) + random.times_256(first + k));
  }
  return lane<U>::template gathered<3>(code, 0);
}

/// Returns the codes of binary32 patterns. No magnitude exceeds F's largest finite value; if F is a
/// truncated binary32 whose overflow is infinity, any may be finite. F has a sign and zero.
template <format F, class U, class R>
LOWP_FN constexpr U encode_in_range(U const& b, U const& random, R const& rounding) {
  using namespace lanes;
  auto const negative = greater(broadcast<U>(0), b);
  if constexpr (F.is_truncated_binary32()) {
    constexpr int dropped = 32 - F.bits();
    U const odd = (b >> dropped) & 1;
    return (b + rounding.template increment<dropped>(odd, negative, random)) >> dropped;
  }
  U const a = b & (binary32_sign - 1);
  return with_sign<F>(round_in_range<F>(a, negative, random, rounding), sign_of<F>(b));
}

/// Returns the codes of binary32 patterns that are not NaN, by overflow::saturate: a magnitude
/// beyond F's largest finite value becomes that value. F has a sign and zero.
template <format F, class U, class R>
LOWP_FN U encode_saturated(U const& b, U const& random, R const& rounding) {
  using namespace lanes;
  std::uint32_t const largest = decode<F>(F.max_code());
  U const a = min(b & (binary32_sign - 1), broadcast<U>(largest));
  auto const negative = greater(broadcast<U>(0), b);
  return with_sign<F>(round_in_range<F>(a, negative, random, rounding), sign_of<F>(b));
}

}  // namespace lowp::detail
