// SPDX-License-Identifier: Apache-2.0
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

}  // namespace lowp
