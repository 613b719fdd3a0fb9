// SPDX-License-Identifier: Apache-2.0
// A number that an operation takes: a value, or one in device memory that a kernel reads.
#pragma once

#include <lowp/base/error_text.hpp>
#include <lowp/format/basic_float.hpp>
#include <lowp/ops/calls.hpp>

namespace lowp::detail {

/// A number in memory that the processor may not reach: value() reads it where a kernel runs.
template <class N>
concept stored_number = requires(N const& n) {
  n.stored_at();
  { n.value() } -> std::same_as<float>;
};

/// A parameter of a call for any number. A parameter of type float would round as the caller's
/// control register says.
struct float_argument {
  float value;
  double given = __builtin_nan("");  ///< the caller's double, for an error text

  template <std::convertible_to<float> N>
  LOWP_HOST_FN float_argument(N const& number) {
    using type = std::remove_cv_t<N>;
    if constexpr (one_of<type, double, long double> || integer<type>)
      value = convert<float>(number);
    else
      value = static_cast<float>(number);
    if constexpr (std::same_as<type, double>) given = number;
  }
};

template <class N>
concept number_argument =
    std::convertible_to<N const&, float> || stored_number<N> || std::same_as<N, float_argument>;

template <class T>
using not_a_number_to_scale_by = fit<number_argument<std::remove_cvref_t<T>>>;

/// The finite numbers that an argument may be. The first two may be negative.
enum number_range {
  any_number,
  not_zero,
  not_negative,
  above_zero,
  below_one,
  at_most_one,
  above_one
};

inline namespace LOWP_SHARED {

/// A float or a double of a call, by its bits: a caller's environment may take subnormals for zero.
struct given_number {
  char const* name;
  number_range range;
  bool is_double;
  std::uint64_t bits;

  template <std::floating_point X>
  LOWP_HOST_FN given_number(char const* its_name, X number, number_range its_range = not_negative)
      : name(its_name), range(its_range), is_double(sizeof(X) == 8), bits(lanes::bits(number)) {}
  LOWP_HOST_FN given_number(char const* its_name, float_argument const& number,
                            number_range its_range)
      : given_number(its_name, number.given, its_range) {
    if (unpack(number.given).nan) *this = given_number(its_name, number.value, its_range);
  }
};

inline constexpr std::uint64_t magnitude_bits(double x) {
  return __builtin_bit_cast(std::uint64_t, x) & ~std::uint64_t{0} >> 1;
}
enum number_use { used_as_float, used_as_double };

/// Returns the error text of the first number out of its range. A double that is used as a float
/// must lie in it as that float, too.
error_text check_numbers(char const* prefix, std::initializer_list<given_number> all,
                         number_use use = used_as_float);

#if defined(LOWP_BODIES)

/// Bits of magnitudes: the largest that is 0, the smallest and the largest that are 1, and the
/// smallest that is infinite.
struct number_limits {
  std::uint64_t zero, least_one, most_one, infinity;

  [[nodiscard]] LOWP_HOST_FN bool allow(number_range range, std::uint64_t magnitude,
                                        bool is_negative) const {
    bool const is_zero = magnitude <= zero;
    if (magnitude >= infinity || (is_negative && !is_zero && range > not_zero)) return false;
    if (range == not_zero || range == above_zero) return !is_zero;
    if (range == below_one) return magnitude < least_one;
    if (range == at_most_one) return magnitude <= most_one;
    return range != above_one || magnitude > most_one;
  }
};
inline constexpr number_limits float_limits{0, 0x3f800000, 0x3f800000, lanes::binary32_infinity};
inline constexpr number_limits double_limits{0, magnitude_bits(1), magnitude_bits(1),
                                             std::uint64_t{0x7ff} << 52};
/// Those of doubles that are so once rounded to float.
inline constexpr number_limits rounded_limits{
    magnitude_bits(0x1p-150), magnitude_bits(0x1.ffffffp-1), magnitude_bits(0x1.000001p0),
    magnitude_bits(0x1.ffffffp127)};

LOWP_COLD inline shortest_text float_text(double x) { return shortest_text(convert<float>(x)); }

LOWP_NOINLINE LOWP_LIB error_text check_numbers(char const* prefix,
                                                std::initializer_list<given_number> all,
                                                number_use use) {
  constexpr char const* wanted[] = {"finite",
                                    "finite and other than 0",
                                    "finite and at least 0",
                                    "finite and above 0",
                                    "in [0, 1)",
                                    "from 0 to 1",
                                    "finite and above 1"};
  for (given_number const& n : all) {
    int const width = n.is_double ? 64 : 32;
    bool const is_negative = (n.bits >> (width - 1)) != 0;
    std::uint64_t const magnitude = n.bits & ~std::uint64_t{0} >> (65 - width);
    bool const is_right =
        (n.is_double ? double_limits : float_limits).allow(n.range, magnitude, is_negative);
    if (is_right && (!n.is_double || use == used_as_double ||
                     rounded_limits.allow(n.range, magnitude, is_negative)))
      continue;
    error_text value =
        shortest_text(lanes::from_bits<float>(static_cast<std::uint32_t>(n.bits))).text;
    if (n.is_double) {
      auto const given = __builtin_bit_cast(double, n.bits);
      value = shortest_text(given).text;
      if (is_right)
        value = joined_text({value.c_str(), ", ", float_text(given).text, " as a float"});
    }
    return joined_text(
        {prefix, *prefix == '\0' ? "" : ": ", n.name, " is ", value, ", not ", wanted[n.range]});
  }
  return {};
}

#endif

}  // namespace LOWP_SHARED

/// Makes an element function of a number, where the number can be read. `Function::argument` and
/// `Function::range` say what the number may be. A stored number passes, because only a kernel can
/// read it.
template <class Function, class N>
struct made_of_number {
  N number;

  LOWP_FN Function operator()() const {
    if constexpr (stored_number<N>)
      return Function{number.value()};
    else
      return Function{number.value};
  }
  auto stored_at() const
    requires stored_number<N>
  {
    return number.stored_at();
  }
  [[nodiscard]] LOWP_HOST_FN error_text check(char const* function) const {
    if constexpr (!stored_number<N>)
      return check_numbers(function, {{Function::argument, number, Function::range}});
    return {};
  }
};

template <class Function, number_argument N>
LOWP_HOST_FN auto make_of(N const& n) {
  return made_of_number<Function, std::conditional_t<stored_number<N>, N, float_argument>>{n};
}

/// to = from * scale. Returns `from`, which an amax measures.
struct scaling {
  static constexpr char const* argument = "scale";
  static constexpr number_range range = not_zero;

  float scale;

  template <class F>
  LOWP_FN F operator()(F& to, F const& from) const {
    to = lanes::mul(from, lanes::broadcast<F>(scale));
    return from;
  }
};

}  // namespace lowp::detail
