// SPDX-License-Identifier: Apache-2.0
// Formats and stochastic rounding of the IEEE P3109 draft against its own definitions, report 4.0:
// section 4.7.2 (Decode), 4.7.4 (RoundToPrecision), 4.7.5 (Saturate). All values and positions are
// doubles, which hold them exactly.
#include <gtest/gtest.h>
#include <lowp/cast.hpp>
#include <lowp/p3109.hpp>
#include <lowp/value.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace {

using lowp::overflow;
using lowp::p3109_domain;
using lowp::p3109_sign;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr overflow saturations[]{overflow::saturate, overflow::p3109_propagate,
                                 overflow::p3109_none};

struct definition {
  int K, P;
  bool is_extended, is_signed = true;

  [[nodiscard]] int nan() const { return is_signed ? 1 << (K - 1) : (1 << K) - 1; }
  [[nodiscard]] int bias() const { return 1 << (K - P - (is_signed ? 1 : 0)); }
  [[nodiscard]] double decode(int code) const {
    if (code == nan()) return std::nan("");
    if (code > nan()) return -decode(code - nan());
    if (is_extended && code == nan() - 1) return infinity;
    int const T = code % (1 << (P - 1)), E = code / (1 << (P - 1));
    double const fraction = std::ldexp(T, 1 - P);
    return E == 0 ? std::ldexp(fraction, 1 - bias()) : std::ldexp(1 + fraction, E - bias());
  }
  [[nodiscard]] int largest_code() const { return nan() - (is_extended ? 2 : 1); }
  [[nodiscard]] double largest() const { return decode(largest_code()); }
  /// Returns the code of a value of the format.
  [[nodiscard]] int encode(double x) const {
    if (std::isnan(x)) return nan();
    if (x < 0) return nan() + encode(-x);
    if (std::isinf(x)) return nan() - 1;
    int const leading = x == 0 ? 1 - bias() : std::max(std::ilogb(x), 1 - bias());
    return static_cast<int>(std::ldexp(x, P - 1 - leading)) +
           (leading + bias() - 1) * (1 << (P - 1));
  }
};

/// A magnitude on the grid of a format that has no upper end: steps + part, times 2^exponent.
struct position {
  double steps, part;
  int exponent;
  bool is_even;
};
bool is_even(double steps) { return std::fmod(steps, 2) == 0; }
position position_of(definition const& d, double x) {
  int const leading = x == 0 ? 1 - d.bias() : std::max(std::ilogb(x), 1 - d.bias());
  int const exponent = leading - (d.P - 1);
  double const scaled = std::ldexp(std::fabs(x), -exponent), steps = std::floor(scaled);
  bool const even = d.P > 1 ? is_even(steps) : steps == 0 || is_even(exponent + d.bias());
  return {steps, scaled - steps, exponent, even};
}

bool away(lowp::nearest_even, position const& at, bool) {
  return at.part > 0.5 || (at.part == 0.5 && !at.is_even);
}
bool away(lowp::nearest_away, position const& at, bool) { return at.part >= 0.5; }
bool away(lowp::toward_zero, position const&, bool) { return false; }
bool away(lowp::upward, position const& at, bool negative) { return at.part > 0 && !negative; }
bool away(lowp::downward, position const& at, bool negative) { return at.part > 0 && negative; }
bool away(lowp::to_odd, position const& at, bool) { return at.part > 0 && at.is_even; }
bool away(lowp::stochastic_bits mode, position const& at, bool) {
  return std::floor(std::ldexp(at.part, 17)) + 2 * mode.r + 1 >= std::ldexp(1, 17);
}

/// The modes as the lines of 4.7.5 name them.
template <class R, class... Modes>
constexpr bool is_one_of = (std::is_same_v<R, Modes> || ...);

template <class R>
double saturated(definition const& d, overflow sat, R, double x) {
  double const lo = d.is_signed ? -d.largest() : 0, hi = d.largest();
  bool const is_extended_and_signed = d.is_extended && d.is_signed;
  if (std::isnan(x) || (lo <= x && x <= hi)) return x;
  if (sat == overflow::saturate) return x < lo ? lo : hi;
  if (sat == overflow::p3109_propagate) {
    if (x == infinity) return d.is_extended ? x : hi;
    if (x == -infinity) return is_extended_and_signed ? x : lo;
    return x < lo ? lo : hi;
  }
  if (x == infinity) return d.is_extended ? x : hi;
  if (x == -infinity) return is_extended_and_signed ? x : !d.is_signed ? std::nan("") : lo;
  if (is_one_of<R, lowp::to_odd> && x > hi && !d.is_signed && d.is_extended) return hi;
  if (is_one_of<R, lowp::toward_zero, lowp::downward> && x > hi) return hi;
  if (is_one_of<R, lowp::toward_zero, lowp::upward> && x < lo) return lo;
  if (x < lo) return is_extended_and_signed ? -infinity : !d.is_signed ? std::nan("") : lo;
  return d.is_extended ? infinity : hi;
}

/// Returns the code that Project gives.
template <class R>
std::uint32_t projected(definition const& d, double x, position const& at, R mode, overflow sat) {
  double rounded = x;
  if (std::isfinite(x)) {
    double const steps = at.steps + (away(mode, at, std::signbit(x)) ? 1 : 0);
    rounded = std::copysign(std::ldexp(steps, at.exponent), x);
  }
  return static_cast<std::uint32_t>(d.encode(saturated(d, sat, mode, rounded)));
}

/// Returns floats at each eighth of a gap and beside them, of both signs.
std::vector<float> samples_of(definition const& d) {
  std::vector<float> result{0.0f, 0x1p-149f, 0x1p-126f, std::numeric_limits<float>::max(),
                            std::numeric_limits<float>::infinity()};
  for (int code = 0; code < d.nan(); ++code) {
    double const here = code == 0 ? 0 : std::ldexp(1, std::ilogb(d.decode(code)) - d.P + 1);
    double const step = std::max(here, std::ldexp(1, 2 - d.bias() - d.P));
    double const from = code > d.largest_code()
                            ? d.largest() + std::ldexp(1, std::ilogb(d.largest()) - d.P + 1)
                            : d.decode(code);
    for (int part = 0; part < 8; ++part) {
      auto const x = static_cast<float>(from + (std::isfinite(step) ? step : from / 2) * part / 8);
      for (float const y : {std::nextafter(x, 0.0f), x, std::nextafter(x, HUGE_VALF)})
        result.push_back(y);
    }
  }
  std::size_t const positive = result.size();
  for (std::size_t i = 0; i < positive; ++i) result.push_back(-result[i]);
  result.push_back(std::numeric_limits<float>::quiet_NaN());
  return result;
}

/// The conversion to a format by any mode that rounding_mode holds.
using conversion = std::uint32_t (*)(float, lowp::rounding_mode const&, overflow);

template <class T>
std::uint32_t by_mode(float x, lowp::rounding_mode const& mode, overflow policy) {
  auto const results = lowp::detail::special_results_of<T::descriptor>(mode, policy);
  return lowp::detail::encode<T::descriptor>(__builtin_bit_cast(std::uint32_t, x), std::uint32_t{0},
                                             mode, results)
      .code;
}

void check_roundings(definition const& d, conversion to) {
  for (float const x : samples_of(d)) {
    position const at = std::isfinite(x) ? position_of(d, x) : position{};
    for (overflow const policy : saturations) {
      auto const expect = [&](std::uint32_t code, auto mode) {
        ASSERT_EQ(code, projected(d, x, at, mode, policy))
            << std::hexfloat << x << " policy " << static_cast<int>(policy);
      };
      auto const all = [&](auto... mode) { (expect(to(x, mode, policy), mode), ...); };
      all(lowp::nearest_even{}, lowp::nearest_away{}, lowp::toward_zero{}, lowp::upward{},
          lowp::downward{}, lowp::to_odd{});
    }
    if (testing::Test::HasFatalFailure()) return;
  }
}

template <class T>
void check(definition const& d) {
  SCOPED_TRACE(testing::Message() << "K " << d.K << " P " << d.P << " extended " << d.is_extended
                                  << " signed " << d.is_signed);
  for (int code = 0; code < 1 << d.K; ++code) {
    T const x = T::from_bits(static_cast<std::uint8_t>(code));
    double const value = d.decode(code);
    ASSERT_EQ(isnan(x), std::isnan(value));
    ASSERT_EQ(isinf(x), std::isinf(value));
    ASSERT_EQ(signbit(x), !std::isnan(value) && value < 0);
    if (std::isnan(value)) continue;
    ASSERT_EQ(static_cast<float>(x), value);
    ASSERT_EQ((-x).bits(), value == 0 ? 0 : d.is_signed ? code ^ d.nan() : d.nan());
  }
  using L = std::numeric_limits<T>;
  EXPECT_EQ(float{L::max()}, d.largest());
  EXPECT_EQ(float{L::lowest()}, d.is_signed ? -d.largest() : 0);
  EXPECT_EQ(float{L::denorm_min()}, d.decode(1));
  EXPECT_EQ(L::has_infinity, d.is_extended);
  EXPECT_TRUE(isnan(L::quiet_NaN()) && (!d.is_extended || isinf(L::infinity())));
  check_roundings(d, by_mode<T>);
}

template <p3109_domain Domain, p3109_sign Sign, int K, int... P>
void check_precisions(std::integer_sequence<int, P...>) {
  (check<lowp::basic_float<lowp::p3109(K, P + 1, Domain, Sign)>>(
       {K, P + 1, Domain == p3109_domain::extended, Sign == p3109_sign::present}),
   ...);
}
template <p3109_domain Domain, int... K>
void check_widths(std::integer_sequence<int, K...>) {
  (check_precisions<Domain, p3109_sign::present, K + 3>(std::make_integer_sequence<int, K + 2>{}),
   ...);
  (check_precisions<Domain, p3109_sign::absent, K + 3>(std::make_integer_sequence<int, K + 3>{}),
   ...);
}

TEST(p3109, finite_formats_and_roundings_are_as_defined) {
  check_widths<p3109_domain::finite>(std::make_integer_sequence<int, 6>{});
}
TEST(p3109, extended_formats_and_roundings_are_as_defined) {
  check_widths<p3109_domain::extended>(std::make_integer_sequence<int, 6>{});
}

using binary8p3se = lowp::basic_float<lowp::p3109(8, 3, p3109_domain::extended)>;
using binary8p4se = lowp::basic_float<lowp::p3109(8, 4, p3109_domain::extended)>;
using binary8p1uf = lowp::basic_float<lowp::p3109(8, 1, p3109_domain::finite, p3109_sign::absent)>;

TEST(p3109, sixteen_random_bits_are_as_defined) {
  definition const d{8, 4, true};
  for (int part = 0; part < 1 << 10; ++part) {
    float const x = 1 + std::ldexp(static_cast<float>(part), -13);  // ten bits of a fraction
    position const at = position_of(d, x);
    for (int draw = 0; draw < 1 << 16; draw += 127) {
      lowp::stochastic_bits const mode{static_cast<std::uint16_t>(draw)};
      ASSERT_EQ(lowp::convert<binary8p4se>(x, mode).bits(),
                projected(d, x, at, mode, overflow::p3109_none))
          << "part " << part << " r " << mode.r;
    }
  }
}

template <class T>
void check_spans(definition const& d) {
  std::vector<T> codes;
  for (int code = 0; code < 256; ++code)
    codes.push_back(T::from_bits(static_cast<std::uint8_t>(code)));
  std::vector<float> values(codes.size());
  lowp::cast(codes, values);
  for (int code = 0; code < 256; ++code) {
    double const want = d.decode(code);
    auto const i = static_cast<std::size_t>(code);
    ASSERT_TRUE(values[i] == want || (std::isnan(want) && std::isnan(values[i]))) << code;
  }
  std::vector<float> const samples = samples_of(d);
  std::vector<T> out(samples.size());
  for (overflow const policy : saturations) {
    lowp::cast(samples, out, lowp::nearest_even{}, policy);
    for (std::size_t i = 0; i < samples.size(); ++i)
      ASSERT_EQ(out[i].bits(), lowp::convert<T>(samples[i], lowp::nearest_even{}, policy).bits());
  }
}
TEST(p3109, spans_are_as_their_elements) {
  check_spans<binary8p3se>({8, 3, true});
  check_spans<binary8p1uf>({8, 1, false, false});
}

TEST(p3109, says_which_formats_it_has_not) {
  using lowp::p3109;
  EXPECT_EQ(p3109(8, 4, p3109_domain::finite), lowp::float8_e4m3fnuz::descriptor);
  EXPECT_EQ(p3109(8, 3, p3109_domain::finite), lowp::float8_e5m2fnuz::descriptor);
  auto const error = [](int K, int P, p3109_sign sign) {
    return p3109(K, P, p3109_domain::extended, sign).error();
  };
  using enum p3109_sign;
  EXPECT_EQ(error(8, 8, present), lowp::format_error::no_exponent_bits);
  EXPECT_EQ(error(8, 9, absent), lowp::format_error::no_exponent_bits);
  EXPECT_EQ(error(8, 0, present), lowp::format_error::negative_significand_bits);
  EXPECT_EQ(error(2, 1, absent), lowp::format_error::no_exponent_bits);
  // Binary8p1ue begins at 2^-127, which is a float. Formats with more exponents are not.
  EXPECT_EQ(error(8, 1, absent), lowp::format_error::none);
  EXPECT_EQ(error(9, 1, present), lowp::format_error::none);
  EXPECT_EQ(error(9, 1, absent), lowp::format_error::smallest_value_below_floats);
  EXPECT_EQ(error(16, 11, present), lowp::format_error::none);
}

}  // namespace
