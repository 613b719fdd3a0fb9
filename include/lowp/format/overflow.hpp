// SPDX-License-Identifier: Apache-2.0
// Policies for values beyond the largest finite one, and for NaN. Two are general; the named
// presets reproduce other libraries bit for bit. All of them are data.
#pragma once

#include <lowp/format/format.hpp>
#include <lowp/lanes/lanes.hpp>

namespace lowp {

/// A policy, applied after rounding as if the exponent had no upper end.
///
/// The presets are for conversions from float to nearest even: see tests/peers/presets/README.md.
/// For a format to which its library does not convert, float8_e8m0fnu and float8_ue5m3, a preset
/// means the format's default policy.
enum class overflow : std::uint8_t {
  infinity,            ///< the IEEE result; NaN if that is infinity and the format has no infinity
  saturate,            ///< the largest finite value, for infinities too; NaN stays NaN
  cuda,                ///< cuda_fp8.h and its siblings, __NV_SATFINITE
  cuda_nosat,          ///< the same, __NV_NOSAT
  ml_dtypes,           ///< ml_dtypes' astype
  ml_dtypes_saturate,  ///< its saturating conversion, which clamps finite values only
  onnx,                ///< Cast with saturate = 1
  onnx_nosat,          ///< Cast with saturate = 0
  torch,               ///< PyTorch 2.12 and newer: float8_e4m3fn saturates
  torch_2_11,          ///< PyTorch up to 2.11
  p3109_propagate,     ///< SatPropagate of IEEE P3109: the largest finite value; infinity stays
  p3109_none,          ///< SatNone of IEEE P3109: infinity, or `saturate` if the format has none;
                       ///< a value below a format without sign becomes NaN
};

/// The codes of special results in one format under one policy.
struct special_codes {
  std::uint32_t overflowed;   ///< a finite value beyond the range; its sign is added
  std::uint32_t infinite;     ///< an infinity; its sign is added
  std::uint32_t nan[2];       ///< a NaN with a clear and with a set sign
  std::uint32_t nan_payload;  ///< mask: the leading payload bits that a NaN keeps
  std::uint32_t below;        ///< a negative value in a format that starts at zero: zero or NaN

  LOWP_HOST_FN constexpr bool operator==(special_codes const&) const = default;
};

LOWP_FN constexpr overflow default_overflow_of(format const& f) {
  return f.has_infinity() ? overflow::infinity : overflow::saturate;
}

template <format F, class... T>
inline constexpr bool is_format_of = false;
template <format F, format... G>
inline constexpr bool is_format_of<F, basic_float<G>...> = ((F == G) || ...);

template <format F>
LOWP_FN constexpr special_codes standard_special_codes(bool saturate) {
  constexpr std::uint32_t infinity = F.has_infinity() ? F.infinity_code()
                                     : F.has_nan()    ? F.nan_code()
                                                      : F.max_code();
  std::uint32_t const beyond = saturate ? F.max_code() : infinity;
  return {beyond,
          beyond,
          {F.nan_code(), F.nan_code() | (F.has_negative_zero() ? F.sign_mask() : 0)},
          F.special_values == specials::ieee ? F.significand_mask() : 0,
          F.starts_at_zero() && !saturate ? F.nan_code() : 0};
}

template <format F>
LOWP_FN constexpr special_codes special_codes_of(overflow policy) {
  constexpr bool is_float16 = is_format_of<F, float16>, is_bfloat16 = is_format_of<F, bfloat16>;
  constexpr bool is_16_bit = is_float16 || is_bfloat16;
  constexpr bool is_e4m3fn = is_format_of<F, float8_e4m3fn>;
  constexpr bool is_ocp_fp8 = is_format_of<F, float8_e5m2, float8_e4m3fn>;
  constexpr bool is_fnuz = is_format_of<F, float8_e5m2fnuz, float8_e4m3fnuz>;
  constexpr bool is_mx = is_format_of<F, float6_e2m3fn, float6_e3m2fn, float4_e2m1fn>;
  constexpr bool is_ml_dtypes_only = is_format_of<F, float8_e4m3, float8_e3m4, float8_e4m3b11fnuz>;
  constexpr bool in_cuda = is_16_bit || is_ocp_fp8 || is_mx;
  constexpr bool in_onnx = is_16_bit || is_ocp_fp8 || is_fnuz || is_mx;
  constexpr bool in_torch = is_16_bit || is_ocp_fp8 || is_fnuz;

  special_codes s = standard_special_codes<F>(false);
  // ml_dtypes keeps no payload, and a NaN that a format lacks becomes the zero of the other sign.
  special_codes ml_dtypes = s;
  if (!is_float16) ml_dtypes.nan_payload = 0;
  if (is_mx) ml_dtypes.nan[1] = 0;

  switch (policy) {
    case overflow::infinity:
      return s;
    case overflow::saturate:
      return standard_special_codes<F>(true);
    case overflow::p3109_propagate:
      s.overflowed = F.max_code();
      if (!F.has_infinity()) s.infinite = F.max_code();
      s.below = 0;
      return s;
    case overflow::p3109_none:  // the default, but below a format that starts at zero
      break;
    case overflow::cuda:
    case overflow::cuda_nosat:
      if (!in_cuda) break;
      if (policy == overflow::cuda && !is_16_bit) s.overflowed = s.infinite = F.max_code();
      s.nan[0] = s.nan[1] = F.magnitude_mask();  // +NaN with all bits set; the largest value in MX
      return s;
    case overflow::ml_dtypes:
    case overflow::ml_dtypes_saturate:
      if (!in_onnx && !is_ml_dtypes_only) break;
      if (policy == overflow::ml_dtypes_saturate && !is_16_bit) ml_dtypes.overflowed = F.max_code();
      return ml_dtypes;
    case overflow::onnx:
    case overflow::onnx_nosat:
      if (!in_onnx) break;
      if (policy == overflow::onnx && !is_16_bit)
        ml_dtypes.overflowed = ml_dtypes.infinite = F.max_code();
      return ml_dtypes;
    case overflow::torch:
    case overflow::torch_2_11:
      if (!in_torch) break;
      if (is_bfloat16) s.nan[1] = s.nan[0];  // as in scalar code; vector code gives 0xffff
      if (!is_float16) s.nan_payload = 0;
      if (is_ocp_fp8) s.nan[0] = F.magnitude_mask(), s.nan[1] = F.code_mask();
      if (policy == overflow::torch && is_e4m3fn) s.overflowed = s.infinite = F.max_code();
      return s;
  }
  s = standard_special_codes<F>(default_overflow_of(F) == overflow::saturate);
  if (F.starts_at_zero() && policy == overflow::p3109_none) s.below = F.nan_code();
  return s;
}

namespace detail {

/// The treatment of a stored NaN. A conversion keeps sign and payload; a computed NaN becomes the
/// canonical one.
enum class nans : std::uint8_t { kept, canonical };

/// The codes of special results, in lanes and by sign, computed once per call. A format that starts
/// at zero has one NaN, and nan[1] is what minus infinity becomes.
template <class U>
struct special_results {
  U overflowed[2], infinite, nan[2], nan_payload;
  bool overflow_is_next_code;  ///< overflow becomes the code after the largest finite value
};

/// Returns true if a number beyond the range's end becomes that end, because the mode rounds
/// inward. To odd, it becomes the infinity or NaN after an even end.
template <format F, class R>
LOWP_FN constexpr bool stays_finite(R const& rounding, bool negative) {
  if constexpr (F.starts_at_zero() || (F.has_infinity() && F.max_code() % 2 == 0))
    if ((negative || F.has_sign) &&
        rounding.template increment<31>(std::uint32_t{0}, negative, std::uint32_t{0}) != 0)
      return false;
  return rounding.inward(negative);
}

template <format F, class U = std::uint32_t, class R>
LOWP_FN constexpr special_results<U> special_results_of(R const& rounding, overflow policy,
                                                        nans kind = nans::kept) {
  using lanes::broadcast;
  special_codes codes = special_codes_of<F>(policy);
  if (kind == nans::canonical) {
    codes.nan[1] = codes.nan[0];
    codes.nan_payload = 0;
  }
  constexpr std::uint32_t least = F.starts_at_zero() ? 0 : F.max_code();
  std::uint32_t const below = F.starts_at_zero() ? codes.below : codes.overflowed;
  return {
      {broadcast<U>(stays_finite<F>(rounding, false) ? F.max_code() : codes.overflowed),
       broadcast<U>(stays_finite<F>(rounding, true) ? least : below)},
      broadcast<U>(codes.infinite),
      {broadcast<U>(codes.nan[0]), broadcast<U>(F.starts_at_zero() ? below : codes.nan[1])},
      broadcast<U>(codes.nan_payload),
      !rounding.inward(false) && !rounding.inward(true) && codes.overflowed == F.max_code() + 1};
}

}  // namespace detail

}  // namespace lowp
