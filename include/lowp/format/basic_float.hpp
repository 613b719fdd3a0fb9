// SPDX-License-Identifier: Apache-2.0
// The value type of every narrow format, with its conversions, numeric_limits and hash.
#pragma once

#include <lowp/format/unpack.hpp>

#include <typeindex>  // the lightest header that declares std::hash

namespace lowp {

namespace detail {
template <class T>
inline constexpr bool is_narrow = false;
template <format F, bool IsImplicit>
inline constexpr bool is_narrow<basic_float<F, IsImplicit>> = true;
}  // namespace detail

/// A lowp value type.
template <class T>
concept narrow = detail::is_narrow<T>;
/// A type that a span of the library can hold.
template <class T>
concept element = narrow<T> || std::same_as<T, float>;
/// A type that converts to a narrow value.
template <class T>
concept number = narrow<T> || std::floating_point<T> || detail::integer<T>;

namespace detail {
/// Every value is a float: a list-initialisation refuses to narrow. But nvcc hands it to the host's
/// compiler as a cast, which does not. So types that are surely no floats are excluded by name.
template <class X>
concept widens_to_float =
    (std::is_class_v<X> || (!std::is_enum_v<X> && !integer<X> && sizeof(X) <= sizeof(float))) &&
    requires(X const& x) { float{x}; };

/// A floating type of the language, including `_Float16`.
template <class X>
concept floating = std::floating_point<X> || (widens_to_float<X> && !std::is_class_v<X>);

/// An enumeration, `_Float16`, or a class that converts to float, such as Eigen::half.
template <class X>
concept number_like = !number<X> && (std::is_enum_v<X> || widens_to_float<X>);

template <number_like X>
LOWP_FN constexpr auto number_of(X const& x) {
  if constexpr (std::is_enum_v<X>)
    return static_cast<std::underlying_type_t<X>>(x);
  else
    return float{x};
}
}  // namespace detail

template <class T>
inline constexpr overflow default_overflow = overflow::infinity;
template <format F, bool IsImplicit>
inline constexpr overflow default_overflow<basic_float<F, IsImplicit>> = default_overflow_of(F);

// Argument-dependent lookup finds nothing here, so a program may have functions of these names.
namespace functions {
/// Returns `x` as a `To`, rounded once from its exact value. `rounding` may be `stochastic`, which
/// takes the random bits of element `offset`, or `stochastic_bits`.
template <element To, number From, value_rounding R = nearest_even>
LOWP_FN constexpr To convert(From x, R rounding = {}, overflow policy = default_overflow<To>);
}  // namespace functions
using namespace functions;

/// A value of the format F, whose code is in the low bits of 8 or 16. It replaces `float` as
/// C++23's std::bfloat16_t does. It widens implicitly, narrows explicitly (nearest even, default
/// overflow) and takes integers implicitly. An assignment narrows without a cast: `y = 0.5f * y`.
/// Code of another library's type of the format may lie where it lies: see lowp/view.hpp.
///
/// It is final: operators and numeric_limits would not know a derived class. See `implicit`.
template <format F, bool IsImplicit>
  requires valid_format<F>
class [[gnu::may_alias]] basic_float final {
 public:
  using storage = std::conditional_t<(F.bits() <= 8), std::uint8_t, std::uint16_t>;
  static constexpr format descriptor = F;

  basic_float() = default;  // indeterminate, like a float

  LOWP_FN constexpr basic_float(detail::integer auto number)
      : basic_float(convert<basic_float>(number)) {}
  LOWP_FN explicit(!IsImplicit) constexpr basic_float(std::floating_point auto number)
      : basic_float(convert<basic_float>(number)) {}
  template <format G, bool IsOtherImplicit>
    requires(G != F || IsOtherImplicit != IsImplicit)
  LOWP_FN explicit(G != F) constexpr basic_float(basic_float<G, IsOtherImplicit> number)
      : basic_float(convert<basic_float>(number)) {}
  template <detail::number_like X>
  LOWP_FN explicit(!IsImplicit || std::is_class_v<X> || !std::convertible_to<X, float>)  //
      constexpr basic_float(X const& number)
      : basic_float(detail::number_of(number)) {}

  LOWP_FN constexpr basic_float& operator=(detail::floating auto x) {
    return *this = basic_float(x);
  }

  LOWP_FN constexpr operator float() const { return convert<float>(*this); }

  /// Returns the value with the bit pattern `code`, and drops bits above the format's.
  LOWP_FN static constexpr basic_float from_bits(storage code) {
    basic_float x;
    x.code_ = static_cast<storage>(code & F.code_mask());
    return x;
  }
  LOWP_FN constexpr storage bits() const { return code_; }

 private:
  storage code_;
};

/// T for code that was written for float: numbers of every floating type convert to it without a
/// cast, rounded once. Otherwise it is T. Each converts to the other, and spans of it are spans of
/// T to every operation.
///
///     typedef lowp::implicit<lowp::bfloat16> real;
///     real x = 1.0, y = 0.5f * x;
template <narrow T>
using implicit = basic_float<T::descriptor, true>;

namespace detail {
/// T for implicit<T>; any other type is its own.
template <class T>
struct explicit_type : std::type_identity<T> {};
template <format F>
struct explicit_type<basic_float<F, true>> : std::type_identity<basic_float<F>> {};
template <class T>
using explicit_of = typename explicit_type<T>::type;

/// Returns a pointer to the same elements, as T if they are implicit<T>.
template <class T>
LOWP_HOST_FN auto* explicit_data(T* data) {
  using element = explicit_of<std::remove_const_t<T>>;
  return reinterpret_cast<std::conditional_t<std::is_const_v<T>, element const, element>*>(data);
}

template <narrow T>
LOWP_FN constexpr T from_code(std::uint32_t code) {
  return T::from_bits(static_cast<typename T::storage>(code));
}

template <class R>
LOWP_FN constexpr std::uint32_t random_bits_of(R const& rounding) {
  if constexpr (draws_bits<R>)
    return rounding.origin().source(rounding.offset);
  else if constexpr (std::same_as<R, stochastic_bits>)
    return rounding.r;
  else
    return 0;
}
}  // namespace detail

template <element To, number From, value_rounding R>
LOWP_FN constexpr To functions::convert(From x, R rounding, overflow policy) {
  if constexpr (std::same_as<detail::explicit_of<To>, detail::explicit_of<From>>) {
    return __builtin_bit_cast(To, x);
  } else if constexpr (std::same_as<To, float> && narrow<From>) {
    return __builtin_bit_cast(float, detail::decode<From::descriptor>(std::uint32_t{x.bits()}));
  } else if constexpr (detail::widens_to_float<From> && !std::same_as<From, float>) {
    return convert<To>(float{x}, rounding, policy);  // widening is exact
  } else if constexpr (std::same_as<To, float>) {
    detail::unpacked const u = detail::unpack(x);
    auto const magnitude =
        detail::round_unpacked<detail::binary32>(u, detail::random_bits_of(rounding), rounding);
    return __builtin_bit_cast(float, detail::finish_binary32(magnitude, u, rounding, policy));
  } else {
    constexpr format F = To::descriptor;
    auto const results = detail::special_results_of<F>(rounding, policy);
    std::uint32_t const random = detail::random_bits_of(rounding);
    if constexpr (std::same_as<From, float>)
      return detail::from_code<To>(
          detail::encode<F>(__builtin_bit_cast(std::uint32_t, x), random, rounding, results).code);
    else
      return detail::from_code<To>(detail::encode<F>(detail::unpack(x), random, rounding, results));
  }
}

}  // namespace lowp

/// The facts of the format, as for every floating-point type; those that are not here are float's.
/// infinity() is the quiet NaN if the format has no infinity. Both are zero if the format has
/// neither.
template <lowp::format F, bool IsImplicit>
class std::numeric_limits<lowp::basic_float<F, IsImplicit>> : public std::numeric_limits<float> {
  using T = lowp::basic_float<F, IsImplicit>;
  LOWP_FN static constexpr T from(std::uint32_t code) { return lowp::detail::from_code<T>(code); }
  // floor(exponent * log10(2)), exact for the exponents of any format here
  LOWP_FN static constexpr int log10_of_2_to(int exponent) {
    return (exponent * 30103 - (exponent < 0 ? 99999 : 0)) / 100000;
  }
  // floor(log10(max())). The power of two above max() may reach a power of ten beyond max().
  LOWP_FN static constexpr int log10_of_max() {
    int const exponent = log10_of_2_to(F.max_exponent() + 1);
    double power = 1;
    for (int tens = 0; tens < exponent; ++tens) power *= 10;
    for (int tens = exponent; tens < 0; ++tens) power /= 10;
    return exponent - (power > static_cast<double>(float{from(F.max_code())}) ? 1 : 0);
  }

 public:
  static constexpr bool is_signed = F.has_sign;
  static constexpr bool has_infinity = F.has_infinity();
  static constexpr bool has_quiet_NaN = F.has_nan();
  static constexpr bool has_signaling_NaN =
      F.special_values == lowp::specials::ieee && F.significand_bits > 1;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // since C++23
  static constexpr float_denorm_style has_denorm =
      F.significand_bits > 0 ? denorm_present : denorm_absent;
#pragma GCC diagnostic pop
  // Among others: signed zero.
  static constexpr bool is_iec559 = F.special_values == lowp::specials::ieee;
  static constexpr int digits = F.precision();
  static constexpr int digits10 = log10_of_2_to(digits - 1);
  static constexpr int max_digits10 = log10_of_2_to(digits) + 2;
  static constexpr int min_exponent = F.min_exponent() + 1;  // of 0.1 in binary, as for float
  static constexpr int max_exponent = F.max_exponent() + 1;
  static constexpr int min_exponent10 = -log10_of_2_to(-F.min_exponent());
  static constexpr int max_exponent10 = log10_of_max();

  LOWP_FN static constexpr T min() noexcept { return from(F.min_normal_code()); }
  LOWP_FN static constexpr T max() noexcept { return from(F.max_code()); }
  LOWP_FN static constexpr T lowest() noexcept {
    return from(F.has_sign ? F.sign_mask() | F.max_code() : 0);
  }
  LOWP_FN static constexpr T epsilon() noexcept {
    if (F.min_exponent() > 0) return denorm_min();  // 1 is subnormal
    return T(1.0 / (1 << F.significand_bits));
  }
  LOWP_FN static constexpr T round_error() noexcept { return T(0.5); }
  LOWP_FN static constexpr T infinity() noexcept {
    return F.has_infinity() ? from(F.infinity_code()) : quiet_NaN();
  }
  LOWP_FN static constexpr T quiet_NaN() noexcept { return from(F.has_nan() ? F.nan_code() : 0); }
  LOWP_FN static constexpr T signaling_NaN() noexcept {
    return has_signaling_NaN ? from(F.infinity_code() + 1) : quiet_NaN();
  }
  LOWP_FN static constexpr T denorm_min() noexcept { return from(F.has_zero() ? 1 : 0); }
};

/// A hash that is equal for both zeros.
template <lowp::format F, bool IsImplicit>
struct std::hash<lowp::basic_float<F, IsImplicit>> {
  LOWP_FN constexpr std::size_t operator()(lowp::basic_float<F, IsImplicit> number) const noexcept {
    bool const zero = F.has_zero() && (number.bits() & F.magnitude_mask()) == 0 && !F.has_one_nan();
    return zero ? 0 : number.bits();
  }
};

/// A narrow type and another number have in common what `x + i` has: the narrow type, or the other
/// one if it is floating. With it, algorithms compare them. `c ? x : i` cannot see this.
template <lowp::format F, bool IsImplicit, class X>
  requires(lowp::detail::integer<X> || std::floating_point<X>)
struct std::common_type<lowp::basic_float<F, IsImplicit>, X> {
  using type = std::conditional_t<std::floating_point<X>, X, lowp::basic_float<F, IsImplicit>>;
};
template <class X, lowp::format F, bool IsImplicit>
  requires(lowp::detail::integer<X> || std::floating_point<X>)
struct std::common_type<X, lowp::basic_float<F, IsImplicit>>
    : std::common_type<lowp::basic_float<F, IsImplicit>, X> {};
template <lowp::format F, bool IsImplicit>
struct std::common_type<lowp::basic_float<F, IsImplicit>, lowp::basic_float<F, !IsImplicit>> {
  using type = lowp::basic_float<F, true>;
};
