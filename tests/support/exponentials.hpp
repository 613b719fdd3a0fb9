// SPDX-License-Identifier: Apache-2.0
// exp and log of lanes against those of the C library in double precision. Those are off by less
// than a thousandth of a float's last place.
#pragma once

#include <gtest/gtest.h>
#include <lowp/lanes/exponential.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "simd/support.hpp"
#include "support.hpp"

namespace lowp_test {

struct exp_operation {
  static constexpr double bound = 0.90;  // as the header says, in units in the last place
  static bool takes(std::uint32_t) { return true; }
  static double exact(double x) { return std::exp(x); }
  template <class F>
  LOWP_HOST_FN static lowp::lanes::word<F> on(lowp::lanes::word<F> const& a,
                                              lowp::lanes::word<F> const&,
                                              lowp::lanes::word<F> const&) {
    return lowp::lanes::bits(lowp::lanes::exp(lowp::lanes::from_bits<F>(a)));
  }
};

// exp(-x) for softmax and GELU, with an x that is not negative.
struct exp_of_minus_operation {
  static constexpr double bound = 0.90;
  static bool takes(std::uint32_t bits) { return bits <= 0x7f800000U; }
  static double exact(double x) { return std::exp(-x); }
  template <class F>
  LOWP_HOST_FN static lowp::lanes::word<F> on(lowp::lanes::word<F> const& a,
                                              lowp::lanes::word<F> const&,
                                              lowp::lanes::word<F> const&) {
    return lowp::lanes::bits(lowp::detail::exp_of_minus(lowp::lanes::from_bits<F>(a)));
  }
};

struct log_operation {
  static constexpr double bound = 0.84;
  static bool takes(std::uint32_t bits) { return bits >= 0x00800000U && bits < 0x7f800000U; }
  static double exact(double x) { return std::log(x); }
  template <class F>
  LOWP_HOST_FN static lowp::lanes::word<F> on(lowp::lanes::word<F> const& a,
                                              lowp::lanes::word<F> const&,
                                              lowp::lanes::word<F> const&) {
    return lowp::lanes::bits(lowp::lanes::log(lowp::lanes::from_bits<F>(a)));
  }
};

// The error of a result in units in the last place of the float below the exact one. Beyond the
// range, units grow as if floats continued.
inline double error_in_ulps(std::uint32_t got, double exact) {
  if ((got & 0x7fffffffU) == 0x7f800000U) {
    bool const rounds_to_infinity = std::fabs(exact) >= 0x1.ffffffp127;
    bool const same_sign = (got >> 31 != 0) == std::signbit(exact);
    return rounds_to_infinity && same_sign ? 0 : HUGE_VAL;
  }
  int exponent = 0;
  std::frexp(exact, &exponent);
  return std::fabs(double{float_of(got)} - exact) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

// On every backend that is here, within the bound and with the same bits.
template <class Operation>
testing::AssertionResult is_close_everywhere(std::vector<std::uint32_t> patterns) {
  std::erase_if(patterns, [](std::uint32_t p) { return !Operation::takes(p); });
  if (patterns.empty()) return testing::AssertionSuccess();
  while (patterns.size() % 16 != 0) patterns.push_back(patterns.front());
  operands in;
  in.a = in.b = in.c = patterns;

  auto const first = on_packs<lowp::simd::portable, Operation>(in);
  for (std::size_t i = 0; i < first.size(); ++i) {
    float const x = float_of(patterns[i]);
    if ((patterns[i] & 0x7fffffffU) > 0x7f800000U) {
      if (first[i] != patterns[i]) return differs("NaN", 8, first[i], patterns[i], {shown(x)});
    } else if (double const exact = Operation::exact(double{x}); std::isinf(exact) || exact == 0) {
      auto const want = float_bits(static_cast<float>(exact));
      if (first[i] != want) return differs("limit", 8, first[i], want, {shown(x)});
    } else if (!(error_in_ulps(first[i], exact) <= Operation::bound)) {
      return testing::AssertionFailure()
             << shown(x) << ": " << shown(float_of(first[i])) << " is "
             << error_in_ulps(first[i], exact) << " units in the last place from " << shown(exact);
    }
  }

  auto result = testing::AssertionSuccess();
  auto const compare = [&]<class Isa>(std::type_identity<Isa>) {
    if (!Isa::available() || !result) return;
    auto const other = on_packs<Isa, Operation>(in);
    for (std::size_t i = 0; i < first.size(); ++i)
      if (other[i] != first[i])
        result = differs(Isa::name, 8, other[i], first[i], {shown(float_of(patterns[i]))});
  };
  [&]<class... Isa>(std::type_identity<lowp::simd::isa_list<Isa...>>) {
    (compare(std::type_identity<Isa>{}), ...);
  }(std::type_identity<lowp::simd::native::list>{});
  return result;
}

}  // namespace lowp_test
