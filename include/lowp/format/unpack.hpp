// SPDX-License-Identifier: Apache-2.0
// Exact parts of double, long double and integers, for one rounding to a narrow format. And
// doubles in lanes, rounded to the values of a shorter format.
#pragma once

#include <lowp/format/codec.hpp>

namespace lowp::detail {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wfloat-equal"
/// Returns a == b, where a comparison of floating-point numbers is no mistake.
template <class T>
LOWP_FN constexpr bool is_equal(T a, T b) {
  return a == b;
}
#pragma GCC diagnostic pop

/// The widest integers, which 32-bit targets lack.
#if defined(__SIZEOF_INT128__)
__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;
#else
typedef std::int64_t int128;
typedef std::uint64_t uint128;
#endif
/// The integer types of every dialect of the compiler, `std::integral` there or not. libc++ counts
/// wider ones among them: clang's `_BitInt(200)`.
template <class K>
concept integer = (std::integral<K> && sizeof(K) <= sizeof(uint128)) || std::same_as<K, int128> ||
                  std::same_as<K, uint128>;

/// A number (-1)^negative * significand * 2^(exponent - 61), with the significand's top bit at bit
/// 61. Bit 0 is also set if any non-zero bit below it was dropped.
struct unpacked {
  bool negative = false, infinite = false, nan = false;
  int exponent = -100000;  // zero's exponent: below every grid
  std::uint64_t significand = 0;
  std::uint32_t payload = 0;  // the leading 32 bits of a NaN's significand field

  static constexpr int precision = 62;
};

LOWP_FN constexpr int leading_zeros(std::uint64_t x) {
#if defined(__CUDA_ARCH__)  // no builtin there, and its intrinsic is no constant expression
  int zeros = 0;
  for (int step = 32; step > 0; step /= 2)
    if (x >> (64 - step) == 0) x <<= step, zeros += step;
  return zeros;
#else
  return __builtin_clzll(x);
#endif
}

/// Returns bits * 2^scale for any 64 or 128 bits.
template <class Bits>
LOWP_FN constexpr unpacked normalized(bool negative, Bits bits, int scale) {
  unpacked u{.negative = negative};
  if constexpr (sizeof(Bits) > 8)
    for (; bits >> 4 * sizeof(Bits) != 0; ++scale) bits = bits >> 1 | (bits & 1);
  auto const significand = static_cast<std::uint64_t>(bits);
  if (significand == 0) return u;
  int const zeros = leading_zeros(significand);
  int const shift = zeros - 2;
  u.exponent = 63 - zeros + scale;
  u.significand = shift >= 0 ? significand << shift
                             : significand >> -shift |
                                   ((significand & ((std::uint64_t{1} << -shift) - 1)) != 0);
  return u;
}

inline constexpr format binary32{8, 23, 127}, binary64{11, 52, 1023}, binary128{15, 112, 16383};

/// Unpacks a pattern. No instruction touches the value, so nothing flushes a subnormal.
template <format F, class Bits = std::uint64_t>
LOWP_FN constexpr unpacked unpack_pattern(std::type_identity_t<Bits> b) {
  constexpr Bits hidden_one = Bits{1} << F.significand_bits;
  constexpr int width = 8 * sizeof(Bits);
  constexpr int last_field = (1 << F.exponent_bits) - 1;
  bool const negative = b >> F.magnitude_bits();
  int const field = static_cast<int>(b >> F.significand_bits) & last_field;
  Bits const significand = b & (hidden_one - 1);
  if (field == last_field)
    return {.negative = negative,
            .infinite = significand == 0,
            .nan = significand != 0,
            .payload = static_cast<std::uint32_t>(significand << (width - F.significand_bits) >>
                                                  (width - 32))};
  return normalized(negative, field ? significand | hidden_one : significand,
                    (field ? field : 1) - F.bias - F.significand_bits);
}
LOWP_FN constexpr unpacked unpack(double x) {
  return unpack_pattern<binary64>(__builtin_bit_cast(std::uint64_t, x));
}

/// The x87 format has a 64-bit significand, which can be read from storage. Constant evaluation of
/// it, and a pair of doubles, need arithmetic.
inline constexpr bool long_double_is_x87 = std::numeric_limits<long double>::digits == 64;

LOWP_HOST_FN constexpr unpacked unpack_by_arithmetic(long double x) {
  bool const nan = !is_equal(x, x);
  bool const negative = x < 0 || ((is_equal(x, 0.0L) || nan) &&
                                  unpack(static_cast<double>(x)).negative);  // a signed zero or NaN
  if (nan) return {.negative = negative, .nan = true, .payload = 0x80000000};
  if (negative) x = -x;
  if (x > std::numeric_limits<long double>::max()) return {.negative = negative, .infinite = true};
  if (is_equal(x, 0.0L)) return {.negative = negative};
  int scale = 0;
  for (; x >= 0x1p62L; ++scale) x /= 2;
  for (; x < 0x1p61L; --scale) x *= 2;
  auto const whole = static_cast<std::uint64_t>(x);
  unpacked u = normalized(negative, whole, scale);
  u.significand |= x > static_cast<long double>(whole);
  return u;
}

LOWP_FN constexpr unpacked unpack(long double x) {
#if defined(__CUDA_ARCH__)  // long double is double there
  return unpack(static_cast<double>(x));
#elif __LDBL_MANT_DIG__ == 113 && defined(__SIZEOF_INT128__)
  return unpack_pattern<binary128, uint128>(__builtin_bit_cast(uint128, x));
#else
  if constexpr (std::numeric_limits<long double>::digits == 53)
    return unpack(static_cast<double>(x));
  if (__builtin_is_constant_evaluated() || !long_double_is_x87) return unpack_by_arithmetic(x);
  struct {
    std::uint64_t significand;
    std::uint16_t sign_and_exponent;
  } b;
  __builtin_memcpy(&b, &x, 10);
  bool const negative = b.sign_and_exponent >> 15;
  int const field = b.sign_and_exponent & 0x7fff;
  std::uint64_t const below_top = b.significand << 1;
  if (field == 0x7fff)
    return {.negative = negative,
            .infinite = below_top == 0,
            .nan = below_top != 0,
            .payload = static_cast<std::uint32_t>(below_top >> 32)};
  return normalized(negative, b.significand, (field ? field : 1) - 16446);
#endif
}

#if defined(__SIZEOF_INT128__)
/// `__float128` in GNU's dialects, and std::float128_t.
template <std::floating_point X>
  requires(sizeof(X) == 16 && !std::same_as<X, long double>)
LOWP_FN constexpr unpacked unpack(X x) {
  return unpack_pattern<binary128, uint128>(__builtin_bit_cast(uint128, x));
}
#endif

template <integer K>
LOWP_FN constexpr unpacked unpack(K x) {
  bool negative = false;
  // Not std::is_signed: it knows integers of 128 bits in GNU's dialect only.
  constexpr bool is_signed = static_cast<K>(-1) < static_cast<K>(1);
  if constexpr (is_signed) negative = x < 0;  // nvcc warns of unsigned numbers below 0
  auto const bits = static_cast<std::conditional_t<sizeof(K) <= 8, std::uint64_t, uint128>>(x);
  return normalized(negative, negative ? 0 - bits : bits, 0);
}

/// Returns the code to which the magnitude of u rounds. Codes continue beyond the largest finite
/// value. Beyond 63 dropped bits, only the leading bits of the fraction remain.
template <format F, class R>
LOWP_FN constexpr std::uint64_t round_unpacked(unpacked const& u, std::uint32_t random,
                                               R const& rounding) {
  constexpr int width = 63, least = unpacked::precision - F.precision();
  int const above = u.exponent - F.min_exponent();
  if (above < 0 && !F.has_zero()) return 0;  // nothing is smaller than code 0
  int const dropped = above < 0 ? least - above : least;
  int const surplus = dropped > width ? dropped - width : 0;
  std::uint64_t const sticky = u.significand != 0;
  std::uint64_t const kept =
      surplus > width ? sticky : u.significand >> surplus | (surplus > 0 ? sticky : 0);
  int const shift = dropped - surplus < width ? dropped - surplus : width;
  auto const binade = static_cast<std::uint64_t>(above < 0 ? 0 : above) << F.significand_bits;
  std::uint64_t const fraction = kept << (width - shift) & all<width, std::uint64_t>;
  // Without zero, code 0 is 2^min_exponent.
  std::uint64_t const lower = binade + (kept >> shift) - (F.has_zero() ? 0 : 1);
  std::uint64_t const increment =
      rounding.template increment<width>(lower & 1, u.negative, std::uint64_t{random});
  return lower + ((fraction + increment) >> width);
}

template <format F, class R>
LOWP_FN constexpr std::uint32_t encode(unpacked const& u, std::uint32_t random, R const& rounding,
                                       special_results<std::uint32_t> const& s) {
  auto const magnitude = static_cast<std::uint32_t>(round_unpacked<F>(u, random, rounding));
  bool const no_zero = !F.has_zero() && u.significand == 0 && !u.infinite;
  return finish<F, R>(magnitude, u.negative ? F.sign_mask() : 0, u.negative, u.infinite,
                      u.nan || no_zero,
                      F.significand_bits ? u.payload >> (32 - F.significand_bits) : 0, s)
      .code;
}

/// A rounded magnitude, or what u is instead, in binary32, which has a policy but no presets.
LOWP_FN constexpr std::uint32_t finish_binary32(std::uint64_t magnitude, unpacked const& u,
                                                auto const& rounding, overflow policy) {
  using namespace lanes;
  std::uint32_t const infinite = binary32_infinity - (policy == overflow::saturate ? 1 : 0);
  std::uint32_t const beyond = rounding.inward(u.negative) ? binary32_infinity - 1 : infinite;
  std::uint32_t const finite = magnitude < beyond ? static_cast<std::uint32_t>(magnitude) : beyond;
  return (u.negative ? binary32_sign : 0) |
         (u.nan        ? binary32_nan | u.payload >> (32 - binary32.significand_bits)
          : u.infinite ? infinite
                       : finite);
}

inline constexpr std::uint64_t binary64_sign = std::uint64_t{1} << 63;
LOWP_FN constexpr std::uint64_t binary64_power(int exponent) {
  return static_cast<std::uint64_t>(exponent + 1023) << 52;
}

/// x becomes the odd one of the two multiples of 2^Bits that enclose it, unless it is one.
template <int Bits, class W>
LOWP_FN constexpr void make_odd_multiple(W& x) {
  constexpr std::uint64_t dropped = (std::uint64_t{1} << Bits) - 1;
  x = (x | ((x & dropped) + dropped)) & ~dropped;
}

/// Rounds the pattern of a double, or of its magnitude, to that of a value of F. The double is
/// finite, and a normal number of F.
///
///     | exponent field | F's digits but one | dropped |
///                                           + increment, which carries into what is kept
template <format F, class U, class M, class R>
LOWP_FN constexpr U round_wide_normal(U const& b, M const& negative, U const& random,
                                      R const& rounding) {
  constexpr int dropped = 53 - F.precision();
  U const odd = (b >> dropped) & 1;
  return (b + rounding.template increment<dropped>(odd, negative, random)) &
         ~((std::uint64_t{1} << dropped) - 1);
}

/// Rounds any finite magnitude. F has a zero, and its exponents continue beyond the largest value.
template <format F, class D, class U, class M, class R>
LOWP_FN U round_wide(U const& a, M const& negative, U const& random, R const& rounding) {
  using namespace lanes;
  constexpr std::uint64_t least = binary64_power(F.min_exponent());
  // An addition gives smaller magnitudes the least normal exponent, and with it F's last place.
  U const aligner = (broadcast<U>(0) - ((a - least) >> 63)) & least;
  U const sum = bits(add(from_bits<D>(a), from_bits<D>(aligner)));
  // The sum is rounded down, and made odd if a mode needs the bits below its last one.
  U const error = a - bits(sub(from_bits<D>(sum), from_bits<D>(aligner)));
  U exact = sum - (error >> 63);
  if constexpr (!R::is_stochastic) exact = exact | ((error | (broadcast<U>(0) - error)) >> 63);
  U const kept = round_wide_normal<F>(exact, negative, random, rounding);
  return bits(sub(from_bits<D>(kept), from_bits<D>(aligner)));
}

}  // namespace lowp::detail
