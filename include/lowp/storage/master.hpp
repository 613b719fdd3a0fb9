// SPDX-License-Identifier: Apache-2.0
// Masters beside their copies, or in two halves.
#pragma once

#include <lowp/storage/layout.hpp>

namespace lowp {

namespace detail {

template <element W, narrow C>
struct master_layout : layout_of_parts<W, C> {
  LOWP_FN static constexpr bool reads(std::size_t part) { return part == 0; }
  static constexpr int rounded = std::same_as<W, float> ? 1 : 0;
  static constexpr int working = 1;
  static constexpr bool holds_small = detail::holds_small<W>;
  using rounded_element = C;

  template <class U>
  class codec {
   public:
    LOWP_FN codec(master_layout const&, auto const& rounding, overflow policy, nans kind)
        : weights_(rounding, policy, kind), copy_(copied(rounding), policy, kind) {}

    template <class F>
    LOWP_FN F decode(U const (&codes)[2]) const {
      return weights_.template decode<F>(codes[0]);
    }
    template <class F, class R>
    LOWP_FN auto encode(F const& w, U const& random, R const& rounding, U (&codes)[2]) const {
      auto const weight = weights_.encode(w, random, rounding);
      auto const copy =
          copy_.encode(weights_.template decode<F>(weight.code), random, copied(rounding));
      codes[0] = weight.code;
      codes[1] = copy.code;
      return lanes::mask_or(weight.overflowed, copy.overflowed);
    }

   private:
    LOWP_FN static auto copied(auto const& rounding) {
      if constexpr (rounded == 1)
        return rounding;
      else
        return nearest_even{};
    }

    part_codec<W, U> weights_;
    part_codec<C, U> copy_;
  };
};

template <class L>
concept low_half = one_of<L, std::uint16_t, std::uint8_t>;

/// A layout of a master in two halves: a number of a wider format with the exponents of H,
///
///     | sign | exponent | significand of H | low_bits |
///
/// The low half is the magnitude's code minus that of H, in two's complement. If L has exactly
/// low_bits bits, these are the wide code's own low bits.
template <with_ieee_specials H, low_half L>
struct split_layout : layout_of_parts<H, carrier_of<L>> {
  static constexpr format narrow_format = H::descriptor;
  static constexpr int stored_bits = 8 * static_cast<int>(sizeof(L));
  static constexpr int spare_bits = 23 - narrow_format.significand_bits;
  static constexpr int low_bits = stored_bits < spare_bits ? stored_bits : spare_bits;
  static constexpr format wide{narrow_format.exponent_bits,
                               narrow_format.significand_bits + low_bits, narrow_format.bias};
  static constexpr bool keeps_all_bits = wide.significand_bits == 23;

  static constexpr int working = 0;
  static constexpr bool holds_small = detail::holds_small<H>;

  template <class U>
  class codec {
   public:
    LOWP_FN codec(split_layout const&, auto const& rounding, overflow policy, nans kind)
        : canonical_(kind == nans::canonical) {
      bool const clamps = special_codes_of<narrow_format>(policy).infinite != infinity >> low_bits;
      largest_ = clamps ? largest : infinity;
      if constexpr (!keeps_all_bits)
        results_ = special_results_of<wide, U>(rounding, overflow::infinity);
    }

    template <class F>
    LOWP_FN F decode(U const (&codes)[2]) const {
      U const high = codes[0] & narrow_format.magnitude_mask();
      U const low = ((codes[1] & low_mask) ^ low_sign) - low_sign;
      auto const nan = lanes::greater(high, lanes::broadcast<U>(infinity >> low_bits));
      U const magnitude = lanes::select(nan, (high << low_bits) | (codes[1] & payload_mask) | quiet,
                                        (high << low_bits) + low);
      U const sign = (codes[0] << (32 - narrow_format.bits())) & lanes::binary32_sign;
      return lanes::from_bits<F>(widened(magnitude) | sign);
    }
    LOWP_FN auto encode(auto const& w, U const& random, auto const& rounding, U (&codes)[2]) const {
      U const a = lanes::magnitude(w);
      U const sign = lanes::bits(w) & lanes::binary32_sign;
      auto const nan = lanes::greater(a, lanes::broadcast<U>(lanes::binary32_infinity));
      U const exact = narrowed(a, sign, random, rounding);
      U const payload = canonical_ ? lanes::broadcast<U>(0) : a & 0x007fffff;
      U const magnitude =
          lanes::select(nan, (payload >> (23 - wide.significand_bits)) | (infinity | quiet),
                        lanes::min(exact, lanes::broadcast<U>(largest_)));
      // A NaN's payload is cut in two and not rounded.
      U const rounding_up = lanes::select(nan, lanes::broadcast<U>(0), lanes::broadcast<U>(half));
      U const high = (magnitude + rounding_up) >> low_bits;
      U const kept_sign = canonical_ ? lanes::select(nan, lanes::broadcast<U>(0), sign) : sign;
      codes[0] = high | kept_sign >> (32 - narrow_format.bits());
      codes[1] = (magnitude - (high << low_bits)) & low_mask;
      return lanes::mask_and(lanes::is_finite(w),
                             lanes::greater((exact + half) >> low_bits,
                                            lanes::broadcast<U>(narrow_format.max_code())));
    }

   private:
    static constexpr std::uint32_t infinity = narrow_format.infinity_code() << low_bits;
    static constexpr std::uint32_t quiet = std::uint32_t{1} << (wide.significand_bits - 1);
    static constexpr std::uint32_t half = std::uint32_t{1} << (low_bits - 1);
    static constexpr std::uint32_t low_mask = (std::uint32_t{1} << stored_bits) - 1;
    static constexpr std::uint32_t payload_mask = (std::uint32_t{1} << low_bits) - 1;
    static constexpr std::uint32_t low_sign = std::uint32_t{1} << (stored_bits - 1);
    /// The largest code whose high half is finite.
    static constexpr std::uint32_t largest = (narrow_format.max_code() << low_bits) + half - 1;

    static constexpr auto rebias = static_cast<std::uint32_t>(127 - narrow_format.bias) << 23;

    /// Returns the codes of magnitudes, beyond infinity too. If there are no bits to drop,
    /// subnormals of `wide` are rounded to nearest even.
    LOWP_FN U narrowed(U const& a, U const& sign, U const& random, auto const& rounding) const {
      if constexpr (!keeps_all_bits) {
        return detail::encode<wide>(a | sign, random, rounding, results_).code &
               wide.magnitude_mask();
      } else if constexpr (rebias == 0) {
        return a;
      } else {
        auto const is_subnormal = lanes::greater(lanes::broadcast<U>(rebias + (1u << 23)), a);
        return lanes::select(is_subnormal, round_subnormal_by_addition<wide>(a), a - rebias);
      }
    }
    LOWP_FN static U widened(U const& code) {
      if constexpr (!keeps_all_bits || rebias == 0) {
        return detail::decode<wide>(code);
      } else {
        auto const is_finite = lanes::greater(lanes::broadcast<U>(infinity), code);
        U const normal =
            code + lanes::select(is_finite, lanes::broadcast<U>(rebias),
                                 lanes::broadcast<U>(lanes::binary32_infinity - infinity));
        auto const is_subnormal = lanes::greater(lanes::broadcast<U>(1u << 23), code);
        return lanes::select(is_subnormal, decode_subnormal<wide>(code), normal);
      }
    }

    special_results<U> results_;
    std::uint32_t largest_;
    bool canonical_;
  };
};

}  // namespace detail

/// Master weights and the narrow working copy of a model, written together (P. Micikevicius et al.,
/// "Mixed precision training", ICLR 2018). It stands for weights[i]. The caller's mode rounds the
/// copy of float weights. It rounds narrow weights, and their copy is rounded to nearest even. The
/// copy is never read: if it is written from outside, call `resync`.
///
/// @tparam W  float or a narrow type
/// @tparam C  the narrow type of the copy
template <element W, narrow C>
struct master {
  std::span<W> weights;
  std::span<C> copy;  ///< as many elements as `weights`

  static constexpr char const* names[] = {"", ".copy"};
  LOWP_HOST_FN auto parts() const { return std::tuple(weights, copy); }
  LOWP_HOST_FN detail::master_layout<W, detail::explicit_of<C>> layout() const { return {}; }
};
template <class W, class C>
master(W&&, C&&) -> master<std::ranges::range_value_t<W>, detail::narrow_in<C>>;

/// Master weights in two halves, as in Transformer Engine's FusedAdam; a model computes with the
/// high one. Together they are a number with H's exponents and more significand:
///
///     bfloat16 + 16 bits   binary32: every float, to the bit
///     bfloat16 +  8 bits   16 significant bits of binary32, in the caller's mode: best stochastic
///     float16  + 16 bits   24 significant bits; a grid of 2^-37 below 2^-14: float16's subnormals
///
/// The high half is the master rounded to nearest, ties away from zero. With ties to even, 65537
/// floats would share a code. It may be infinite although the master is finite. If the policy
/// saturates, the master's range ends with the high half's. A NaN comes back quiet and otherwise
/// the same. If `high` is written from outside, call `resync`: `low` belongs to its old value.
///
/// @tparam H  a narrow type with IEEE specials
/// @tparam L  std::uint16_t or std::uint8_t: the master's last bits, in two's complement
template <class H, class L>
  requires detail::with_ieee_specials<std::remove_const_t<H>> &&
           detail::low_half<std::remove_const_t<L>>
struct split_master {
  std::span<H> high;
  std::span<L> low;  ///< as many elements as `high`

  static constexpr char const* names[] = {"", ".low"};
  LOWP_HOST_FN auto parts() const { return std::tuple(high, low); }
  LOWP_HOST_FN auto layout() const {
    return detail::split_layout<detail::explicit_of<std::remove_const_t<H>>,
                                std::remove_const_t<L>>{};
  }
};
template <class H, class L>
split_master(H&&, L&&)
    -> split_master<std::ranges::range_value_t<H>, std::ranges::range_value_t<L>>;

}  // namespace lowp
