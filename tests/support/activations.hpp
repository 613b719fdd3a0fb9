// SPDX-License-Identifier: Apache-2.0
// Activations in double or long double, and how far the library may be from them.
#pragma once

#include <gtest/gtest.h>
#include <lowp/nn.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support.hpp"

namespace lowp_test {

// The value, the derivative, and the bounds that nn/activation_functions.hpp promises: of the value
// alone, of the value beside a derivative, of the derivative.
template <class Real>
struct exact_activation {
  Real value, slope, value_bound, gate_bound, slope_bound;
};

// A unit in the last place of the float below x.
template <class Real>
Real unit_of(Real x) {
  int exponent = 0;
  std::frexp(x, &exponent);
  return std::ldexp(Real{1}, std::max(exponent - 24, -149));
}

#define LOWP_TESTED_ACTIVATION(name)                             \
  using function = lowp::detail::name##_function;                \
  static constexpr char const* text = #name;                     \
  static constexpr auto const& plain = lowp::name;               \
  static constexpr auto const& gated = lowp::gated_##name;       \
  static constexpr auto const& backward = lowp::name##_backward; \
  static constexpr auto const& gated_backward = lowp::gated_##name##_backward;

struct gelu_tanh {
  LOWP_TESTED_ACTIVATION(gelu_tanh)

  template <class Real>
  static exact_activation<Real> at(Real x) {
    Real const a = std::fabs(x);
    Real const c = 2 * std::sqrt(2 / std::acos(Real{-1}));
    Real const y = c * (a + Real(0.044715L) * a * a * a);
    Real const e =
        std::exp(-y);  // (1 + tanh(y / 2)) / 2 is 1 / (1 + e^-y), which cancels for y < 0
    Real const s = (x < 0 ? e : 1) / (1 + e);
    Real const rest =
        e == 0 ? 0 : a * c * (1 + 3 * Real(0.044715L) * a * a) * e / ((1 + e) * (1 + e));
    Real const value = x * s;
    Real const factor = 3 * std::fmin(y, Real{200});
    Real const of_negative = Real(0x1p-24) * std::fabs(value);
    return {value, x < 0 ? s - rest : s + rest,
            x < 0 ? of_negative * (4 + factor) + Real(0x1p-145) : 2 * unit_of(value),
            of_negative * (6 + factor) + Real(0x1p-145),
            Real(0x1p-24) * (s + rest) * (6 + factor) + Real(0x1p-141)};
  }
};

struct gelu {
  LOWP_TESTED_ACTIVATION(gelu)

  template <class Real>
  static exact_activation<Real> at(Real x) {
    Real const share = std::erfc(-x / std::sqrt(Real{2})) / 2;
    Real const density = std::exp(-x * x / 2) / std::sqrt(2 * std::acos(Real{-1}));
    Real const value = x * share;
    Real const bound = Real(x < 0 ? 6.5 : 3.7) * unit_of(value);
    Real const terms = share + std::fabs(x) * density;
    return {value, share + x * density, bound, bound, Real(8.1 * 0x1p-24) * terms + Real(0x1p-147)};
  }
};

struct silu {
  LOWP_TESTED_ACTIVATION(silu)

  template <class Real>
  static exact_activation<Real> at(Real x) {
    Real const e = std::exp(-std::fabs(x));
    Real const share = (x < 0 ? e : 1) / (1 + e);
    Real const other = (x < 0 ? 1 : e) / (1 + e);
    Real const value = x * share;
    Real const bound = Real(x < 0 ? 5 : 3.2) * unit_of(value);
    Real const terms = share + std::fabs(x) * share * other;
    return {value, share + x * share * other, bound, bound,
            Real(6 * 0x1p-24) * terms + Real(0x1p-147)};
  }
};

using activations = testing::Types<gelu_tanh, gelu, silu>;

template <class Activation>
testing::AssertionResult is_activated(float x, float got) {
  if (std::isnan(x)) {
    if (float_bits(got) == 0x7fc00000U) return testing::AssertionSuccess();
  } else if (std::isinf(x)) {
    if (float_bits(got) == (x > 0 ? 0x7f800000U : 0x80000000U)) return testing::AssertionSuccess();
  } else {
    auto const exact = Activation::at(double{x});
    bool const near = std::fabs(got - exact.value) <= exact.value_bound;
    if (near && std::fabs(got) <= std::fabs(x) && std::signbit(got) == std::signbit(x))
      return testing::AssertionSuccess();
    return testing::AssertionFailure()
           << shown(x) << ": " << shown(got) << ", not near " << shown(exact.value);
  }
  return testing::AssertionFailure() << shown(x) << ": " << shown(got);
}

template <class Activation>
testing::AssertionResult are_activated(std::vector<float> const& in,
                                       std::vector<float> const& out) {
  for (std::size_t i = 0; i < in.size(); ++i)
    if (auto const near = is_activated<Activation>(in[i], out[i]); !near) return near;
  return testing::AssertionSuccess();
}

// And the bits of a scalar, so on any backend the same.
template <class Activation>
testing::AssertionResult are_activated(std::vector<float> const& in) {
  std::vector<float> out(in.size());
  Activation::plain(in, out);
  if (auto const near = are_activated<Activation>(in, out); !near) return near;
  for (std::size_t i = 0; i < in.size(); ++i) {
    auto const scalar = float_bits(typename Activation::function{}(in[i]));
    if (!std::isnan(in[i]) && scalar != float_bits(out[i]))
      return has_bits(out[i], scalar, "a scalar", in[i]);
  }
  return testing::AssertionSuccess();
}

// Derivatives for dy = up = 1: dgate is the derivative, dup the value.
template <class Activation>
testing::AssertionResult are_slopes(std::vector<float> const& x, std::vector<float> const& slope,
                                    std::vector<float> const& value) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    bool is_near = std::isnan(slope[i]) && std::isnan(value[i]);
    auto const exact = Activation::at(double{x[i]});
    if (std::isinf(x[i]))
      is_near = slope[i] == (x[i] > 0 ? 1 : 0) && value[i] == (x[i] > 0 ? x[i] : 0);
    else if (!std::isnan(x[i]))
      is_near = std::fabs(slope[i] - exact.slope) <= exact.slope_bound &&
                std::fabs(value[i] - exact.value) <= exact.gate_bound;
    if (!is_near)
      return testing::AssertionFailure()
             << shown(x[i]) << ": " << shown(slope[i]) << " for " << shown(exact.slope) << " and "
             << shown(value[i]) << " for " << shown(exact.value);
  }
  return testing::AssertionSuccess();
}

}  // namespace lowp_test
