// SPDX-License-Identifier: Apache-2.0
// Narrow parameters, each beside what rounding took from it.
#pragma once

#include <lowp/format/encode_in_range.hpp>
#include <lowp/storage/layout.hpp>

namespace lowp {

namespace detail {

template <narrow P, narrow C>
struct kahan_layout : layout_of_parts<P, C> {
  static constexpr int rounded = 1;
  static constexpr int working = 0;
  static constexpr bool holds_small = detail::holds_small<P>;

  template <class U>
  class codec {
   public:
    LOWP_FN codec(kahan_layout const&, auto const& rounding, overflow policy, nans kind)
        : value_(nearest_even{}, policy, kind),
          compensation_(rounding, overflow::saturate, nans::canonical) {}

    template <class F>
    LOWP_FN F decode(U const (&codes)[2]) const {
      return lanes::add(value_.template decode<F>(codes[0]),
                        compensation_.template decode<F>(codes[1]));
    }
    template <class F, class R>
    LOWP_FN auto encode(F const& w, U const& random, R const& rounding, U (&codes)[2]) const {
      auto const value = value_.encode(w, random, nearest_even{});
      codes[0] = value.code;
      // Exact: w has 24 bits, and the result is less than half a gap of P, in ulps of w.
      F const lost = lanes::sub(w, value_.template decode<F>(value.code));
      constexpr format narrow_format = C::descriptor;
      U const bits = lanes::bits(lost);
      if (narrow_format.is_truncated_binary32() &&
          all_ordinary<narrow_format>(lanes::magnitude(lost), bits)) [[likely]] {
        codes[1] = encode_in_range<narrow_format>(bits, random, rounding);
      } else {
        F const rest = lanes::select(lanes::is_finite(lost), lost, lanes::broadcast<F>(0));
        codes[1] = compensation_.encode(rest, random, rounding).code;
      }
      return value.overflowed;
    }

   private:
    part_codec<P, U> value_;
    part_codec<C, U> compensation_;
  };
};

template <class E>
concept error_code = one_of<E, std::int16_t, std::int8_t>;

template <with_ieee_specials H, error_code E>
struct corrected_layout : layout_of_parts<H, carrier_of<E>> {
  static constexpr format narrow_format = H::descriptor;
  static constexpr int error_bits = 8 * static_cast<int>(sizeof(E));
  static constexpr std::uint32_t most = (1u << (error_bits - 1)) - 1;  // the code of half an ulp

  static constexpr int rounded = 1;
  static constexpr int working = 0;
  static constexpr bool holds_small = detail::holds_small<H>;

  template <class U>
  class codec {
   public:
    LOWP_FN codec(corrected_layout const&, auto const&, overflow policy, nans kind)
        : value_(nearest_even{}, policy, kind) {}

    template <class F>
    LOWP_FN F decode(U const (&codes)[2]) const {
      using namespace lanes;
      F const value = value_.template decode<F>(codes[0]);
      // The code's number with its sign, from the last bits of a float between 2^23 and 2^24.
      F const size = sub(from_bits<F>(codes[1] ^ (lanes::bits(0x1p23f) + most + 1)),
                         broadcast<F>(0x1p23f + static_cast<float>(most + 1)));
      F const sum = add(value, mul(quotient(size), power_of(value)));
      return select(is_finite(value), sum, value);
    }
    template <class F, class R>
    LOWP_FN auto encode(F const& w, U const& random, R const& rounding, U (&codes)[2]) const {
      using namespace lanes;
      auto const stored = value_.encode(w, random, nearest_even{});
      F const value = value_.template decode<F>(stored.code), error = sub(w, value);
      constexpr float half = 1.0f / (1 << narrow_format.significand_bits);  // an ulp, inverted
      F const inverse = from_bits<F>(broadcast<U>(255u << 23) - lanes::bits(power_of(value)));
      F const place = maximum_number(absolute(mul(error, inverse)), broadcast<F>(0));  // 0 if NaN
      F const size = mul(smaller_or_nan(place, broadcast<F>(half)),
                         broadcast<F>(static_cast<float>(most) / half));
      auto const is_negative = greater(broadcast<U>(0), lanes::bits(error));
      U code;
      if constexpr (std::same_as<R, nearest_even>)  // as integer_code does
        code = to_word(add(size, broadcast<F>(0.5f)));
      else
        code = integer_code<F>(size, is_negative, broadcast<U>(1), random, rounding);
      codes[0] = stored.code;
      codes[1] = select(is_negative, broadcast<U>(0) - code, code) & (2 * most + 1);
      return stored.overflowed;
    }

   private:
    /// Returns size / most of half an ulp, as a part of power_of(value): half an ulp may be no
    /// float. It is rounded once for integers up to most + 1: tests compare them all.
    template <class F>
    LOWP_FN static F quotient(F const& size) {
      constexpr double factor = 1. / most / (1 << narrow_format.precision());
      constexpr auto high = static_cast<float>(factor);
      constexpr auto low = static_cast<float>(factor - static_cast<double>(high));
      return lanes::fma(size, lanes::broadcast<F>(high),
                        lanes::mul(size, lanes::broadcast<F>(low)));
    }
    /// Returns the power of two in a value. Zero and subnormals have that of the smallest normal
    /// number, infinities and NaN that of the largest finite one.
    template <class F>
    LOWP_FN static F power_of(F const& value) {
      using lanes::broadcast;
      constexpr std::uint32_t least = std::uint32_t(127 + narrow_format.min_exponent()),
                              largest = std::uint32_t(127 + narrow_format.max_exponent());
      U const power = lanes::bits(value) & lanes::binary32_infinity;
      return lanes::from_bits<F>(
          lanes::min(lanes::max(power, broadcast<U>(least << 23)), broadcast<U>(largest << 23)));
    }

    part_codec<H, U> value_;
  };
};

}  // namespace detail

/// A parameter that remembers what rounding took from it (W. Kahan, "Further remarks on reducing
/// truncation errors", CACM 8(1), 1965). It stands for value[i] + compensation[i], added in float.
/// A step changes that sum to w and stores
///
///     value[i]        = w, rounded to P to nearest even
///     compensation[i] = w - value[i], rounded to C in the caller's mode, saturating
///
/// An update that is too small for `value` thus waits in `compensation`, which is 0 if `value` is
/// not finite. The subtraction is exact. If `value` is written from outside, call `resync`: else
/// the next step adds the compensation of its old value.
///
/// The compensation can stall too, unless it is rounded stochastically. C needs small values more
/// than precision. Near 2^-6, a bfloat16 parameter has a compensation below 2^-15, far below the
/// smallest value of float8_e4m3fn.
///
/// @tparam P, C  narrow types; bfloat16 twice gives about 16 bits of precision in 4 bytes
template <narrow P, narrow C = P>
struct kahan {
  std::span<P> value;
  std::span<C> compensation;  ///< as many elements as `value`, initially zeros

  static constexpr char const* names[] = {"", ".compensation"};
  LOWP_HOST_FN auto parts() const { return std::tuple(value, compensation); }
  LOWP_HOST_FN detail::kahan_layout<detail::explicit_of<P>, detail::explicit_of<C>> layout() const {
    return {};
  }
};
template <class P, class C>
kahan(P&&, C&&) -> kahan<detail::narrow_in<P>, detail::narrow_in<C>>;

/// Master weights as FlashOptim keeps them (Databricks, flashoptim 0.1.4): a narrow value that the
/// model computes with, rounded to nearest even, and its error. The largest code of an error, 127
/// or 32767, is half an ulp. include/lowp/README.md has each operation in float: "States of
/// FlashOptim". The error is rounded in the caller's mode; to nearest, ties go away from zero. A
/// bfloat16 with 16 bits then stands for the number stored or for a neighbour of it. If `value` is
/// not finite, the error adds nothing. If `value` is written from outside, call `resync`:
/// `error_bits` belong to its old value.
///
/// @tparam H  a narrow type with IEEE specials: bfloat16 or float16 in the package
/// @tparam E  std::int8_t, master_weight_bits = 24 there, or std::int16_t, 32
template <detail::with_ieee_specials H, detail::error_code E>
struct corrected_master {
  std::span<H> value;
  std::span<E> error_bits;  ///< as many elements as `value`, initially zeros

  static constexpr char const* names[] = {"", ".error_bits"};
  LOWP_HOST_FN auto parts() const { return std::tuple(value, error_bits); }
  LOWP_HOST_FN detail::corrected_layout<detail::explicit_of<H>, E> layout() const { return {}; }
};
template <class H, class E>
corrected_master(H&&, E&&) -> corrected_master<detail::narrow_in<H>, std::ranges::range_value_t<E>>;

}  // namespace lowp
