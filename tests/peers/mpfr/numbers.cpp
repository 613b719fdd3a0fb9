// SPDX-License-Identifier: Apache-2.0
// Compares the library with MPFR, which rounds to any precision in four modes and says what it did.
// Operands follow Berkeley TestFloat 3e, which Debian does not have: the same families of exponents
// and significands. Others lie at every rounding boundary of a format. Zeros and NaN are not
// compared: MPFR has one NaN. float8_e8m0fnu is not either: it has no precision for MPFR.
#include <mpfr.h>
#include <lowp/lanes/exponential.hpp>
#include <lowp/lowp.hpp>
#include <lowp/value.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "oracle/facts.hpp"

namespace {

long differences = 0;
long compared = 0;

// A number of MPFR.
struct real {
  mpfr_t v;
  explicit real(mpfr_prec_t precision) { mpfr_init2(v, precision); }
  real(real const&) = delete;
  real& operator=(real const&) = delete;
  ~real() { mpfr_clear(v); }
};
template <class T>
inline constexpr oracle::facts facts{};
#define FACTS(name, ...) \
  template <>            \
  [[maybe_unused]] inline constexpr oracle::facts facts<lowp::name> = oracle::name;
ORACLE_FORMATS(FACTS)
#undef FACTS

template <class R>
inline constexpr mpfr_rnd_t direction = MPFR_RNDN;
template <>
inline constexpr mpfr_rnd_t direction<lowp::toward_zero> = MPFR_RNDZ;
template <>
inline constexpr mpfr_rnd_t direction<lowp::upward> = MPFR_RNDU;
template <>
inline constexpr mpfr_rnd_t direction<lowp::downward> = MPFR_RNDD;

// Calls compute(result, direction) with a result that has the precision of T and its subnormals.
// Its exponent has no upper end; overflow then follows A3 with the format's default policy.
template <class T, class R, class Compute>
double rounded(R, Compute compute) {
  constexpr oracle::facts f = facts<T>;
  static real result(f.significand_bits + 1);
  int ternary = compute(result.v, direction<R>);
  mpfr_set_emin(2 - f.bias - f.significand_bits);
  ternary = mpfr_check_range(result.v, ternary, direction<R>);
  mpfr_subnormalize(result.v, ternary, direction<R>);
  bool const negative = mpfr_signbit(result.v) != 0;
  double const size = std::fabs(mpfr_get_d(result.v, MPFR_RNDZ));
  mpfr_set_emin(mpfr_get_emin_min());
  if (size <= f.max_finite || mpfr_nan_p(result.v)) return negative ? -size : size;
  bool const inward =
      direction<R> == MPFR_RNDZ || direction<R> == (negative ? MPFR_RNDU : MPFR_RNDD);
  double const end = inward || !f.has_infinity ? f.max_finite : HUGE_VAL;
  return negative ? -end : end;
}

template <class T>
void expect(T got, double want, char const* what, std::string const& from) {
  ++compared;
  double const value = static_cast<double>(static_cast<float>(got));
  if (value == want) return;
  if (++differences < 20)
    std::printf("%s %s of %s: %a, and MPFR has %a\n", facts<T>.name, what, from.c_str(), value,
                want);
}

std::string text(long double x) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%La", x);
  return buffer;
}

template <class Fn>
void for_each_mode(Fn fn) {
  fn(lowp::nearest_even{}, "nearest_even");
  fn(lowp::toward_zero{}, "toward_zero");
  fn(lowp::upward{}, "upward");
  fn(lowp::downward{}, "downward");
}

// Significands of `bits` bits as TestFloat has them: one bit, ones at the top, all but one bit,
// ones at the bottom; and sums of two.
std::vector<std::uint64_t> significands(int bits) {
  std::uint64_t const all = ~std::uint64_t{0} >> (64 - bits);
  std::vector<std::uint64_t> family{0, all};
  for (int i = 0; i < bits; ++i) {
    std::uint64_t const one = std::uint64_t{1} << i;
    for (std::uint64_t const x : {one, all & ~(one - 1), all & ~one, one - 1}) family.push_back(x);
  }
  std::size_t const size = family.size();
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = i % 61; j < size; j += 61) family.push_back((family[i] + family[j]) & all);
  return family;
}

// Exponents: the ends of all formats, of float and of integers, and those around one.
std::vector<int> exponents() {
  std::vector<int> list{-1100, -1074, -1023, -1022, -1021, -53, 29,  30,  31,   32,  53,
                        61,    62,    63,    64,    126,   127, 128, 129, 1022, 1023};
  for (int e = -26; e <= 17; ++e) list.push_back(e);
  for (int e = -152; e <= -124; ++e) list.push_back(e);
  return list;
}

std::vector<double> doubles() {
  std::vector<double> list;
  for (std::uint64_t const fraction : significands(52))
    for (int const e : exponents())
      for (int const sign : {1, -1})
        list.push_back(std::ldexp(sign * std::bit_cast<double>(0x3ff0000000000000U | fraction), e));
  return list;
}

// Values of T, and their midpoints, with both neighbours in X.
template <class T, class X>
std::vector<X> boundaries() {
  std::vector<X> list;
  for (std::uint32_t code = 0; code < facts<T>.max_code(); ++code) {
    auto const value = [](std::uint32_t c) {
      return static_cast<X>(static_cast<float>(T::from_bits(static_cast<typename T::storage>(c))));
    };
    X const low = value(code);
    X const middle = (low + value(code + 1)) / 2;
    for (X const x : {low, middle})
      for (X const y : {x, std::nextafter(x, X(-1e30)), std::nextafter(x, X(1e30))}) {
        list.push_back(y);
        list.push_back(-y);
      }
  }
  X const end = static_cast<X>(facts<T>.max_finite);
  for (X const factor : {X(1.03125), X(1.0625), X(1.125), X(2)}) list.push_back(end * factor);
  return list;
}

template <class T, class X>
void compare_conversions(std::vector<X> const& inputs, char const* what) {
  real exact(64);
  for (X const x : inputs) {
    if (x == 0) continue;
    mpfr_set_ld(exact.v, x, MPFR_RNDN);
    for_each_mode([&](auto mode, char const* name) {
      double const want =
          rounded<T>(mode, [&](mpfr_t y, mpfr_rnd_t r) { return mpfr_set(y, exact.v, r); });
      expect(lowp::convert<T>(x, mode), want, name, std::string(what) + " " + text(x));
    });
  }
}

template <class T>
bool usable(T x) {
  return isfinite(x) && static_cast<float>(x) != 0;
}

// Operands of T: TestFloat's families at all exponents of T, and its ends.
template <class T>
std::vector<T> operands() {
  std::vector<T> list;
  if constexpr (facts<T>.bits() <= 8) {
    for (std::uint32_t code = 0; code < 1U << facts<T>.bits(); ++code)
      list.push_back(T::from_bits(static_cast<typename T::storage>(code)));
  } else {
    for (std::uint64_t const fraction : significands(facts<T>.significand_bits))
      for (int const e : {0, 1, 2, facts<T>.bias - 2, facts<T>.bias - 1, facts<T>.bias,
                          facts<T>.bias + 1, 2 * facts<T>.bias})
        for (std::uint64_t const sign : {std::uint64_t{0}, facts<T>.sign_mask()})
          list.push_back(T::from_bits(static_cast<typename T::storage>(
              sign | static_cast<std::uint64_t>(e) << facts<T>.significand_bits | fraction)));
  }
  std::erase_if(list, [](T x) { return !usable(x); });
  return list;
}

template <class T>
void set(real& r, T x) {
  mpfr_set_flt(r.v, static_cast<float>(x), MPFR_RNDN);
}

template <class T>
void compare_arithmetic() {
  std::vector<T> const list = operands<T>();
  std::mt19937_64 random(3);
  real a(24);
  real b(24);
  real c(24);
  int const count = 300'000;
  for (int i = 0; i < count; ++i) {
    T const x = list[random() % list.size()];
    T const y = list[random() % list.size()];
    T const z = list[random() % list.size()];
    set(a, x);
    set(b, y);
    set(c, z);
    std::string const from = text(static_cast<float>(x)) + " " + text(static_cast<float>(y)) + " " +
                             text(static_cast<float>(z));
    auto const nearest = [&](auto compute) { return rounded<T>(lowp::nearest_even{}, compute); };
    expect(x + y, nearest([&](mpfr_t r, mpfr_rnd_t m) { return mpfr_add(r, a.v, b.v, m); }), "+",
           from);
    expect(x - y, nearest([&](mpfr_t r, mpfr_rnd_t m) { return mpfr_sub(r, a.v, b.v, m); }), "-",
           from);
    expect(x * y, nearest([&](mpfr_t r, mpfr_rnd_t m) { return mpfr_mul(r, a.v, b.v, m); }), "*",
           from);
    expect(x / y, nearest([&](mpfr_t r, mpfr_rnd_t m) { return mpfr_div(r, a.v, b.v, m); }), "/",
           from);
    expect(fma(x, y, z),
           nearest([&](mpfr_t r, mpfr_rnd_t m) { return mpfr_fma(r, a.v, b.v, c.v, m); }), "fma",
           from);
  }
}

template <class T>
void compare_roots() {
  real a(24);
  for (std::uint32_t code = 1; code <= facts<T>.max_code(); ++code) {
    T const x = T::from_bits(static_cast<typename T::storage>(code));
    set(a, x);
    expect(sqrt(x),
           rounded<T>(lowp::nearest_even{},
                      [&](mpfr_t r, mpfr_rnd_t m) { return mpfr_sqrt(r, a.v, m); }),
           "sqrt", text(static_cast<float>(x)));
  }
}

// Digits at random, and digits of boundaries cut off after any place.
template <class T>
void compare_text() {
  std::mt19937_64 random(5);
  std::vector<double> const edges = boundaries<T, double>();
  char buffer[900];
  for (int i = 0; i < 100'000; ++i) {
    if (i % 2 == 0) {
      std::snprintf(buffer, sizeof buffer, "%s%llu.%llue%d", random() % 2 ? "-" : "",
                    static_cast<unsigned long long>(random() >> random() % 64),
                    static_cast<unsigned long long>(random() >> random() % 64),
                    static_cast<int>(random() % 90) - 60);
    } else {
      std::snprintf(buffer, sizeof buffer, "%.*e", static_cast<int>(random() % 60),
                    edges[random() % edges.size()]);
    }
    std::string const s(buffer);
    T x = T::from_bits(0);
    from_chars(s.data(), s.data() + s.size(), x);
    expect(x,
           rounded<T>(
               lowp::nearest_even{},
               [&](mpfr_t r, mpfr_rnd_t m) { return mpfr_strtofr(r, s.c_str(), nullptr, 10, m); }),
           "text", s);
  }
}

// exp and log in units in the last place of the float below the exact result.
template <class Library, class Reference>
void compare_function(char const* name, double bound, Library library, Reference reference,
                      float first, float last) {
  real x(24);
  real y(80);
  std::mt19937_64 random(7);
  auto const low = std::bit_cast<std::int32_t>(first);
  auto const high = std::bit_cast<std::int32_t>(last);
  double worst = 0;
  for (int i = 0; i < 400'000; ++i) {
    auto const at = static_cast<std::uint64_t>(high - low) + 1;
    auto const bits = low + static_cast<std::int32_t>(random() % at);
    float const in = std::bit_cast<float>(bits);
    mpfr_set_flt(x.v, in, MPFR_RNDN);
    reference(y.v, x.v, MPFR_RNDN);
    if (mpfr_zero_p(y.v)) continue;
    float const out = library(in);
    mpfr_exp_t const exponent = mpfr_get_exp(y.v);
    if (exponent > 128 || exponent < -125) continue;  // beyond float's normal range
    mpfr_sub_d(y.v, y.v, static_cast<double>(out), MPFR_RNDN);
    double const error =
        std::fabs(std::ldexp(mpfr_get_d(y.v, MPFR_RNDN), 24 - static_cast<int>(exponent)));
    worst = std::max(worst, error);
    ++compared;
  }
  if (worst > bound) ++differences;
  std::printf("%s: at most %.3f units in the last place, the bound is %.2f\n", name, worst, bound);
}

template <class T>
void compare_all(std::vector<double> const& patterns) {
  compare_conversions<T>(patterns, "double");
  compare_conversions<T>(boundaries<T, double>(), "double");
  compare_conversions<T>(boundaries<T, long double>(), "long double");
  compare_arithmetic<T>();
  compare_roots<T>();
  compare_text<T>();
}

}  // namespace

int main() {
  std::vector<double> const patterns = doubles();
#define COMPARE(name, ...) \
  if constexpr (oracle::name.is_signed) compare_all<lowp::name>(patterns);
  ORACLE_FORMATS(COMPARE)
#undef COMPARE
  compare_function(
      "exp", 0.90, [](float x) { return lowp::lanes::exp(x); }, mpfr_exp, 0x1p-20f, 88.7f);
  compare_function(
      "exp", 0.90, [](float x) { return lowp::lanes::exp(x); }, mpfr_exp, -0x1p-20f, -87.0f);
  compare_function(
      "log", 0.84, [](float x) { return lowp::lanes::log(x); }, mpfr_log, 0x1p-126f,
      0x1.fffffep127f);
  std::printf("SUMMARY: %ld results beside MPFR %s: %ld differ\n", compared, mpfr_get_version(),
              differences);
  return differences == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
