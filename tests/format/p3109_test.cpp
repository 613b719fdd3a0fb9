// SPDX-License-Identifier: Apache-2.0
// Formats and stochastic rounding of the IEEE P3109 draft against its own definitions, report 4.0:
// section 4.2 (Decode), 4.3.1 (RoundToPrecision), 4.3.2 (Saturate). All values and positions are
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

constexpr double infinity = std::numeric_limits<double>::infinity();

struct definition {
  int K, P;
  bool is_extended;

  [[nodiscard]] int half() const { return 1 << (K - 1); }
  [[nodiscard]] int bias() const { return 1 << (K - P - 1); }
  [[nodiscard]] double decode(int code) const {
    if (code == half()) return std::nan("");
    if (code > half()) return -decode(code - half());
    if (is_extended && code == half() - 1) return infinity;
    int const T = code % (1 << (P - 1)), E = code / (1 << (P - 1));
    double const fraction = std::ldexp(T, 1 - P);
    return E == 0 ? std::ldexp(fraction, 1 - bias()) : std::ldexp(1 + fraction, E - bias());
  }
  [[nodiscard]] int largest_code() const { return half() - (is_extended ? 2 : 1); }
};

/// A magnitude on the grid of a format that has no upper end: steps + part, times 2^exponent.
struct position {
  double steps, part;
  int exponent;
};
position position_of(definition const& d, double x) {
  int const leading = x == 0 ? 1 - d.bias() : std::max(std::ilogb(x), 1 - d.bias());
  double const scaled = std::ldexp(std::fabs(x), d.P - 1 - leading);
  return {std::floor(scaled), scaled - std::floor(scaled), leading - (d.P - 1)};
}

bool inward(auto, bool) { return false; }
bool inward(lowp::toward_zero, bool) { return true; }
bool inward(lowp::to_odd, bool) { return true; }
bool inward(lowp::upward, bool negative) { return negative; }
bool inward(lowp::downward, bool negative) { return !negative; }

bool is_odd(double steps) { return std::fmod(steps, 2) == 1; }
bool away(lowp::nearest_even, position const& at, bool) {
  return at.part > 0.5 || (at.part == 0.5 && is_odd(at.steps));
}
bool away(lowp::nearest_away, position const& at, bool) { return at.part >= 0.5; }
bool away(lowp::toward_zero, position const&, bool) { return false; }
bool away(lowp::upward, position const& at, bool negative) { return at.part > 0 && !negative; }
bool away(lowp::downward, position const& at, bool negative) { return at.part > 0 && negative; }
bool away(lowp::to_odd, position const& at, bool) { return at.part > 0 && !is_odd(at.steps); }
template <int N>
bool away(lowp::stochastic_a<N> mode, position const& at, bool) {
  return std::floor(std::ldexp(at.part, N)) + mode.r >= std::ldexp(1, N);
}
template <int N>
bool away(lowp::stochastic_b<N> mode, position const& at, bool) {
  return std::floor(std::ldexp(at.part, N + 1)) + 2 * mode.r + 1 >= std::ldexp(1, N + 1);
}
template <int N>
bool away(lowp::stochastic_c<N> mode, position const& at, bool) {
  return std::nearbyint(std::ldexp(at.part, N)) + mode.r >= std::ldexp(1, N);
}

/// Returns the code that Project gives.
template <class R>
int projected(definition const& d, double x, position const& at, R mode, overflow policy) {
  if (std::isnan(x)) return d.half();
  bool const negative = std::signbit(x);
  bool const clamps = policy == overflow::saturate || !d.is_extended;
  int code = d.largest_code();
  if (std::isinf(x)) {
    code += clamps ? 0 : 1;
  } else {
    double const steps = at.steps + (away(mode, at, negative) ? 1 : 0);
    double const value = std::ldexp(steps, at.exponent);
    if (value > d.decode(d.largest_code()))
      code += clamps || policy == overflow::p3109_propagate || inward(mode, negative) ? 0 : 1;
    else if (steps < std::ldexp(1, d.P - 1))
      code = static_cast<int>(steps);
    else
      code = static_cast<int>(std::ldexp(value, d.P - 1 - std::ilogb(value)) +
                              std::ldexp(std::ilogb(value) + d.bias() - 1, d.P - 1));
  }
  return code == 0 ? 0 : code + (negative ? d.half() : 0);
}

/// Returns floats at each eighth of a gap and beside them, of both signs.
std::vector<float> samples_of(definition const& d) {
  std::vector<float> result{0.0f, 0x1p-149f, 0x1p-126f, std::numeric_limits<float>::max(),
                            std::numeric_limits<float>::infinity()};
  for (int code = 0; code < d.half(); ++code) {
    double const here = code == 0 ? 0 : std::ldexp(1, std::ilogb(d.decode(code)) - d.P + 1);
    double const step = std::max(here, std::ldexp(1, 2 - d.bias() - d.P));
    double const from =
        code > d.largest_code()
            ? d.decode(code - 1) + std::ldexp(1, std::ilogb(d.decode(code - 1)) - d.P + 1)
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

template <class T>
void check(definition const& d) {
  SCOPED_TRACE(testing::Message() << "K " << d.K << " P " << d.P << " extended " << d.is_extended);
  for (int code = 0; code < 2 * d.half(); ++code) {
    T const x = T::from_bits(static_cast<std::uint8_t>(code));
    double const value = d.decode(code);
    ASSERT_EQ(isnan(x), std::isnan(value));
    ASSERT_EQ(isinf(x), std::isinf(value));
    ASSERT_EQ(signbit(x), !std::isnan(value) && value < 0);
    if (std::isnan(value)) continue;
    ASSERT_EQ(static_cast<float>(x), value);
    ASSERT_EQ((-x).bits(), value == 0 ? 0 : code ^ d.half());
  }
  using L = std::numeric_limits<T>;
  EXPECT_EQ(float{L::max()}, d.decode(d.largest_code()));
  EXPECT_EQ(L::has_infinity, d.is_extended);
  EXPECT_TRUE(isnan(L::quiet_NaN()) && (!d.is_extended || isinf(L::infinity())));

  std::vector<float> const samples = samples_of(d);
  for (float const x : samples) {
    position const at = std::isfinite(x) ? position_of(d, x) : position{};
    auto const expect = [&](auto mode, overflow policy) {
      ASSERT_EQ(lowp::convert<T>(x, mode, policy).bits(), projected(d, x, at, mode, policy))
          << std::hexfloat << x << " policy " << static_cast<int>(policy);
    };
    for (overflow const policy :
         {overflow::saturate, overflow::p3109_propagate, overflow::infinity}) {
      if (!d.is_extended && policy == overflow::infinity) continue;  // the draft has one rule there
      auto const all = [&](auto... mode) { (expect(mode, policy), ...); };
      all(lowp::nearest_even{}, lowp::downward{}, lowp::stochastic_c<3>{5});
      if constexpr (T::descriptor.bits() == 8) {  // the compiler's time
        all(lowp::nearest_away{}, lowp::toward_zero{}, lowp::upward{}, lowp::to_odd{});
        for (std::uint16_t r = 0; r < 8; ++r)
          all(lowp::stochastic_a<3>{r}, lowp::stochastic_b<3>{r}, lowp::stochastic_c<3>{r});
      }
    }
    if (testing::Test::HasFatalFailure()) return;
  }
}

template <p3109_domain Domain, int K, int... P>
void check_precisions(std::integer_sequence<int, P...>) {
  (check<lowp::basic_float<lowp::p3109(K, P + 2, Domain)>>(
       {K, P + 2, Domain == p3109_domain::extended}),
   ...);
}
template <int... K>
void check_widths(std::integer_sequence<int, K...>) {
  (check_precisions<p3109_domain::finite, K + 3>(std::make_integer_sequence<int, K + 1>{}), ...);
  (check_precisions<p3109_domain::extended, K + 3>(std::make_integer_sequence<int, K + 1>{}), ...);
}

TEST(p3109, formats_and_roundings_are_as_defined) {
  check_widths(std::make_integer_sequence<int, 6>{});
}

using binary8p3se = lowp::basic_float<lowp::p3109(8, 3, p3109_domain::extended)>;
using binary8p4se = lowp::basic_float<lowp::p3109(8, 4, p3109_domain::extended)>;

template <int N>
void check_draws() {
  definition const d{8, 4, true};
  for (int part = 0; part < 1 << 10; ++part) {
    float const x = 1 + std::ldexp(static_cast<float>(part), -13);  // ten bits of a fraction
    position const at = position_of(d, x);
    auto const expect = [&](auto mode) {
      ASSERT_EQ(lowp::convert<binary8p4se>(x, mode).bits(),
                projected(d, x, at, mode, overflow::infinity))
          << "part " << part << " N " << N << " r " << mode.r;
    };
    for (int draw = 0; draw < 1 << N; draw += N > 8 ? 127 : 1) {
      auto const r = static_cast<std::uint16_t>(draw);
      expect(lowp::stochastic_a<N>{r});
      expect(lowp::stochastic_b<N>{r});
      expect(lowp::stochastic_c<N>{r});
      if constexpr (N == 8) {
        ASSERT_EQ(lowp::convert<binary8p4se>(double{x}, lowp::stochastic_c<8>{r}).bits(),
                  lowp::convert<binary8p4se>(x, lowp::stochastic_c<8>{r}).bits());
      }
      if constexpr (N == 16) {
        ASSERT_EQ(lowp::convert<binary8p4se>(x, lowp::stochastic_bits{r}).bits(),
                  lowp::convert<binary8p4se>(x, lowp::stochastic_b<16>{r}).bits());
      }
    }
  }
}
TEST(p3109, few_random_bits_are_as_defined) {
  check_draws<1>();
  check_draws<8>();
  check_draws<16>();
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
  for (overflow const policy :
       {overflow::saturate, overflow::p3109_propagate, overflow::infinity}) {
    lowp::cast(samples, out, lowp::nearest_even{}, policy);
    for (std::size_t i = 0; i < samples.size(); ++i)
      ASSERT_EQ(out[i].bits(), lowp::convert<T>(samples[i], lowp::nearest_even{}, policy).bits());
  }
}
TEST(p3109, spans_are_as_their_elements) {
  check_spans<binary8p3se>({8, 3, true});
  check_spans<binary8p4se>({8, 4, true});
}

TEST(p3109, says_which_formats_it_has_not) {
  using lowp::p3109;
  EXPECT_EQ(p3109(8, 4, p3109_domain::finite), lowp::float8_e4m3fnuz::descriptor);
  EXPECT_EQ(p3109(8, 3, p3109_domain::finite), lowp::float8_e5m2fnuz::descriptor);
  EXPECT_EQ(p3109(8, 8, p3109_domain::finite).error(), lowp::format_error::no_exponent_bits);
  EXPECT_EQ(p3109(8, 1, p3109_domain::finite).error(),
            lowp::format_error::signed_without_significand_bits);
  EXPECT_EQ(p3109(8, 0, p3109_domain::finite).error(),
            lowp::format_error::negative_significand_bits);
}

}  // namespace
