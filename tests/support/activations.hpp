// SPDX-License-Identifier: Apache-2.0
// GELU's tanh form in double precision, and how far a float may be from it.
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

// 2 sqrt(2/pi) (|x| + 0.044715 |x|^3)
inline double gelu_argument(double x) {
  double const a = std::fabs(x);
  return 2 * std::sqrt(2 / 3.14159265358979323846) * (a + 0.044715 * a * a * a);
}
// (1 + tanh(y / 2)) / 2 is 1 / (1 + e^-y), which for a negative y would cancel.
inline double exact_gelu(double x) {
  double const e = std::exp(-gelu_argument(x));
  return x < 0 ? x * e / (1 + e) : x / (1 + e);
}

// The bound that the header promises for a float result.
inline double gelu_bound(double x, double exact) {
  if (x < 0) return std::fabs(exact) * 0x1p-24 * (4 + 3 * gelu_argument(x)) + 0x1p-145;
  int exponent = 0;
  std::frexp(exact, &exponent);
  return 2 * std::ldexp(1.0, std::max(exponent - 24, -149));
}

inline testing::AssertionResult is_gelu(float x, float got) {
  if (std::isnan(x)) {
    if (float_bits(got) == 0x7fc00000U) return testing::AssertionSuccess();
  } else if (std::isinf(x)) {
    if (float_bits(got) == (x > 0 ? 0x7f800000U : 0x80000000U)) return testing::AssertionSuccess();
  } else {
    double const exact = exact_gelu(double{x});
    bool const near = std::fabs(got - exact) <= gelu_bound(double{x}, exact);
    if (near && std::fabs(got) <= std::fabs(x) && std::signbit(got) == std::signbit(x))
      return testing::AssertionSuccess();
    return testing::AssertionFailure()
           << shown(x) << ": " << shown(got) << ", not near " << shown(exact);
  }
  return testing::AssertionFailure() << shown(x) << ": " << shown(got);
}

inline testing::AssertionResult are_gelus(std::vector<float> const& in,
                                          std::vector<float> const& out) {
  for (std::size_t i = 0; i < in.size(); ++i)
    if (auto const near = is_gelu(in[i], out[i]); !near) return near;
  return testing::AssertionSuccess();
}

// And the bits of a scalar, so on any backend the same.
inline testing::AssertionResult are_gelus(std::vector<float> const& in) {
  std::vector<float> out(in.size());
  lowp::gelu_tanh(in, out);
  if (auto const near = are_gelus(in, out); !near) return near;
  for (std::size_t i = 0; i < in.size(); ++i) {
    auto const scalar = float_bits(lowp::detail::gelu_of_tanh{}(in[i]));
    if (!std::isnan(in[i]) && scalar != float_bits(out[i]))
      return has_bits(out[i], scalar, "a scalar", in[i]);
  }
  return testing::AssertionSuccess();
}

}  // namespace lowp_test
