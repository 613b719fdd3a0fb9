// SPDX-License-Identifier: Apache-2.0
// States of FlashOptim (Databricks, flashoptim 0.1.4): master weights, and moments in blocks.
// include/lowp/README.md has each operation in float: "States of FlashOptim".
#pragma once

#include <lowp/storage/scaled.hpp>

namespace lowp {

namespace detail {

template <class E>
concept error_code = one_of<E, std::int16_t, std::int8_t>;

template <with_ieee_specials H, error_code E>
struct corrected_layout : layout_of_parts<H, carrier_of<E>> {
  static constexpr format narrow_format = H::descriptor;
  static constexpr std::uint32_t most{std::numeric_limits<E>::max()};  // the code of half an ulp

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

LOWP_EXACT_BEGIN

/// The rule of companded_blocks: see power_of_two_rule. A narrow type carries the bytes.
template <bool IsSigned>
struct companded_rule {
  using carrier = float8_e5m2;
  using scale_type = float16;
  struct counts {};
  static constexpr std::uint32_t most = IsSigned ? 127 : 255;

  /// Values of codes, as parts of the scale. A GPU's block has a copy.
  struct alignas(16) tables_type {
    std::uint32_t of_code[256] = {};
  };
  LOWP_FN static tables_type const& tables() {
    static constexpr tables_type all = [] {
      tables_type made;
      for (int code = 0; code < 256; ++code) {
        int const number = IsSigned && code > 127 ? code - 256 : code;
        float const x = static_cast<float>(number) / static_cast<float>(most);
        made.of_code[code] = lanes::bits(IsSigned ? x / (2 - (x < 0 ? -x : x)) : x);
      }
      return made;
    }();
    return all;
  }

  LOWP_HOST_FN companded_rule after(std::size_t) const { return *this; }
  LOWP_FN static bool stores_finite(float16 scale) {
    return (scale.bits() & 0x7fff) < float16::descriptor.infinity_code();
  }
  /// The divisor is not rounded as the stored scale is. Second moments are stored as square roots.
  template <class F>
  LOWP_FN block_scale_of<F> scales(F const& amax, std::size_t) const {
    using namespace lanes;
    using U = word<F>;
    F const none = from_bits<F>(broadcast<U>(binary32_nan));
    F largest = amax;
    if constexpr (!IsSigned) largest = lanes::sqrt(largest);
    largest = maximum_number(largest, broadcast<F>(1e-12f));
    F const factor = select(is_finite(amax), largest, none);
    part_codec<float16, U> const codec(nearest_even{}, overflow::infinity, nans::kept);
    return {codec.encode(factor, broadcast<U>(0), nearest_even{}).code, factor};
  }
  template <class F, class U, class R>
  LOWP_FN auto encode(F const& x, F const& largest, U const& random, R const& rounding,
                      special_results<U> const&) const {
    using namespace lanes;
    F const zero = broadcast<F>(0);
    auto const is_negative = equal(bits(x) >> 31, broadcast<U>(1));
    F place = absolute(x);
    if constexpr (!IsSigned) place = lanes::sqrt(select(is_negative, zero, place));
    place = div(place, largest);
    if constexpr (IsSigned) place = div(add(place, place), add(broadcast<F>(1), place));
    U tie = broadcast<U>(1);
    if constexpr (IsSigned) tie = select(is_negative, broadcast<U>(0) - 1, tie);
    U const size = integer_code<F>(mul(place, broadcast<F>(static_cast<float>(most))), is_negative,
                                   tie, random, rounding);
    U const code = IsSigned ? select(is_negative, broadcast<U>(0) - size, size) & 0xff : size;
    return encoded<U, mask<F>>{code, greater(code, code)};
  }
  /// Likewise to nearest, by the divisor of a block.
  LOWP_FN static std::uint32_t encode_plain(float x, block_divisor const& largest,
                                            tables_type const&) {
    float y = x;
    if constexpr (!IsSigned) y = lanes::sqrt(lanes::maximum_number(x, 0.0f));
    y = largest.quotient(y);
    if constexpr (IsSigned) y = lanes::div(lanes::add(y, y), lanes::add(1.0f, lanes::size_of(y)));
    float const place = lanes::mul(y, static_cast<float>(most));
    return lane<float>::floor_to_word(lanes::add(place, 0.5f)) & 0xff;
  }
  template <class U>
  LOWP_FN auto decode_code(U const& code, float16 stored) const {
    using namespace lanes;
    using F = decltype(lowp::lane<U>::to_real(code));
    auto const is_negative = greater(code, broadcast<U>(IsSigned ? most : most + 1));
    U const size = select(is_negative, broadcast<U>(256) - code, code);
    F x = div(to_real(size), broadcast<F>(static_cast<float>(most)));
    F const scale = broadcast<F>(float{stored});
    if constexpr (IsSigned) {
      x = mul(div(x, sub(broadcast<F>(2), x)), scale);
      return select(is_negative, negative(x), x);
    } else {
      x = mul(x, scale);
      return mul(x, x);
    }
  }
  /// Likewise by a table. A processor's lanes divide faster than they look up.
  LOWP_FN static float decode_code(std::uint32_t code, float16 stored, tables_type const& all) {
    float const x = lanes::mul(lanes::from_bits<float>(all.of_code[code]), float{stored});
    return IsSigned ? x : lanes::mul(x, x);
  }
};

LOWP_EXACT_END

}  // namespace detail

/// Master weights as FlashOptim keeps them: a narrow value that the model computes with, rounded to
/// nearest even, and its error. The largest code of an error, 127 or 32767, is half an ulp. The
/// error is rounded in the caller's mode; to nearest, ties go away from zero. A bfloat16 with 16
/// bits then stands for the number stored or for a neighbour of it. If `value` is not finite, the
/// error adds nothing. If `value` is written from outside, call `resync`: `error_bits` belong to
/// its old value.
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

/// A moment in the 8 bits of FlashOptim, whose interpreter gives these bits. A mode other than
/// nearest chooses between the two neighbours, but nearest_away is nearest_even. A scale below
/// 2^-25 becomes zero, and one of 65520 or more infinite, as there. A block with a NaN or an
/// infinity is NaN as a whole.
///
/// @tparam IsSigned  true for first moments; false for second moments, where a negative value is 0
template <bool IsSigned>
struct companded_blocks {
  std::span<std::conditional_t<IsSigned, std::int8_t, std::uint8_t>> codes;
  std::span<float16> scales;  ///< one for each block of 32; the last block may be short

  static constexpr int elements_per_scale = 32;
  using block_rule = detail::companded_rule<IsSigned>;
  static constexpr char const* names[] = {"", ".scales"};
  LOWP_HOST_FN auto parts() const { return std::tuple(codes, scales); }

  LOWP_HOST_FN static constexpr std::size_t blocks(std::size_t count) {
    return detail::blocks_in(count, elements_per_scale);
  }
  [[nodiscard]] LOWP_HOST_FN detail::error_text invalid() const {
    return detail::check_blocks(codes, elements_per_scale, scales.size());
  }
};
using signed_companded_blocks = companded_blocks<true>;
using unsigned_companded_blocks = companded_blocks<false>;

}  // namespace lowp
