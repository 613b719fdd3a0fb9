// SPDX-License-Identifier: Apache-2.0
// Doubles around every change of a conversion's result, and casts of numbers against the oracle.
#pragma once

#include <cmath>
#include <limits>
#include <random>

#include "support/support.hpp"

namespace lowp_test {

template <class T>
constexpr oracle::facts target_facts() {
  if constexpr (std::same_as<T, float>)
    return oracle::binary32;
  else
    return facts<T>;
}

// All that lies around a magnitude: what the 2^-17 of a gap decides, and neighbours as near as
// double has them.
inline void add_around(std::vector<double>& all, double at, double next) {
  double const gap = next - at;
  for (double const part : {0.0, 0x1p-17, 0.25, 0.5, 1 - 0x1p-17}) {
    double const x = at + gap * part;
    for (double const near : {x, std::nextafter(x, HUGE_VAL), std::nextafter(x, -HUGE_VAL)}) {
      all.push_back(near);
      all.push_back(-near);
    }
  }
}

// Around every `step`-th value of a format, all of its first and last, and what no format has.
inline std::vector<double> doubles_around(oracle::facts const& f, std::uint32_t step) {
  std::vector<double> all{HUGE_VAL, -HUGE_VAL, 1e300, -1e300, 0x1p-1074, -0x1p-1074, 0x1p128};
  for (std::uint64_t const bits : {0x7ff8000000000000U, 0xfff0000000000001U, 0xfff1234567890abcU})
    all.push_back(std::bit_cast<double>(bits));
  auto const top = static_cast<std::uint32_t>(f.max_code()) + 2;
  for (std::uint64_t code = 0; code < top;) {
    auto const value = [&](std::uint64_t c) {
      oracle::number const x = oracle::magnitude_value(f, c);
      return std::ldexp(static_cast<double>(x.significand), x.exponent);
    };
    add_around(all, value(code), value(code + 1));
    code += code < 20 || code + 20 + step > top ? 1 : step;
  }
  return all;
}

inline std::vector<double> random_doubles(std::size_t count) {
  std::mt19937_64 random(7);
  std::vector<double> all;
  while (all.size() < count) {
    std::uint64_t const bits = random(), exponent = 1023 - 160 + random() % 300;
    all.push_back(std::bit_cast<double>(bits));
    all.push_back(std::bit_cast<double>((bits & 0x800fffffffffffff) | exponent << 52));
    all.push_back(static_cast<double>(static_cast<std::int64_t>(bits) >> (bits % 60)));
  }
  return all;
}

// Around every power of two and every sum of two.
template <class I>
std::vector<I> integers() {
  std::mt19937_64 random(8);
  std::vector<I> all{0, 1, std::numeric_limits<I>::min(), std::numeric_limits<I>::max()};
  for (int bit = 0; bit < std::numeric_limits<I>::digits; ++bit) {
    for (int low = 0; low <= bit; ++low) {
      auto const x = static_cast<std::uint64_t>(I{1}) << bit;
      for (std::uint64_t const y : {x | x >> low, (x | x >> low) - 1, (x | x >> low) + 1}) {
        all.push_back(static_cast<I>(y));
        all.push_back(static_cast<I>(0 - y));
      }
    }
  }
  for (int i = 0; i < 20'000; ++i)
    all.push_back(static_cast<I>(static_cast<std::int64_t>(random()) >> (i % 64)));
  return all;
}

// Numbers for a cast of From to To.
template <class To, class From>
std::vector<From> numbers_between(std::uint32_t step) {
  if constexpr (std::same_as<From, double>) {
    std::vector<double> all = doubles_around(target_facts<To>(), step);
    for (double const x : random_doubles(3'000)) all.push_back(x);
    return all;
  } else {
    return integers<From>();
  }
}
// Element by element.
template <class To, class From, class R>
std::vector<To> converted(std::vector<From> const& in, R rounding, lowp::overflow policy) {
  std::vector<To> out;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if constexpr (R::is_stochastic)
      out.push_back(lowp::convert<To>(in[i], rounding.after(i), policy));
    else
      out.push_back(lowp::convert<To>(in[i], rounding, policy));
  }
  return out;
}

template <class To, class From, class R>
void check(std::vector<From> const& in, R rounding, oracle::mode mode, char const* name) {
  for (named_policy const& policy : policies) {
    std::vector<To> out(in.size());
    lowp::cast(in, out, rounding, policy.overflow);
    for (std::size_t i = 0; i < in.size(); ++i) {
      std::uint32_t random = 0;
      if constexpr (R::is_stochastic)
        random = lowp::random_source{rounding.seed, rounding.stream}(rounding.offset + i);
      std::uint32_t const expected =
          oracle::encode(target_facts<To>(), oracle::from(in[i]), mode, policy.policy, random);
      ASSERT_TRUE(has_bits(out[i], expected, in[i], name, policy.name, random));
      if (i % 64 != 0) continue;
      if constexpr (R::is_stochastic)
        ASSERT_TRUE(
            has_bits(lowp::convert<To>(in[i], rounding.after(i), policy.overflow), expected));
      else
        ASSERT_TRUE(has_bits(lowp::convert<To>(in[i], rounding, policy.overflow), expected));
    }
  }
}
template <class To, class From>
void check_nearest(std::vector<From> const& in) {
  check<To>(in, lowp::nearest_even{}, oracle::mode::nearest_even, "nearest_even");
}
template <class To, class From>
void check_stochastic(std::vector<From> const& in) {
  check<To>(in, lowp::stochastic{.seed = 5, .stream = 6, .offset = 3}, oracle::mode::stochastic,
            "stochastic");
}

}  // namespace lowp_test
