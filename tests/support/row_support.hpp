// SPDX-License-Identifier: Apache-2.0
// Rows that are hard for a softmax, and the maths of one in double.
#pragma once

#include <gtest/gtest.h>
#include <lowp/value.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "refusals.hpp"
#include "support.hpp"

namespace lowp_test {

template <class In, class Out>
struct in_and_out {
  using in = In;
  using out = Out;
};

inline std::vector<std::size_t> row_lengths() {
  std::vector<std::size_t> all;
  for (std::size_t n = 1; n <= 300; n += n < 70 ? 1 : 23) all.push_back(n);
  all.insert(all.end(), {1000, 4096, 8192, 10007});
  return all;
}

template <class T>
std::uint32_t code_of(T x) {
  if constexpr (std::same_as<T, float>)
    return float_bits(x);
  else
    return x.bits();
}

template <class T>
double largest_finite() {
  return double{float(std::numeric_limits<T>::max())};
}

// Half the distance between the numbers of a format around x.
template <class T>
double half_gap(double x) {
  int exponent = 0;
  std::frexp(x, &exponent);
  using limits = std::numeric_limits<T>;
  int const least = limits::min_exponent - limits::digits;
  return std::ldexp(0.5, std::max(exponent - limits::digits, least));
}

struct exact_row {
  std::vector<double> x;
  double largest, sum = 0;

  template <class In>
  explicit exact_row(std::span<In const> in) {
    for (In const each : in) x.push_back(double{float(each)});
    largest = *std::max_element(x.begin(), x.end());
    for (std::size_t i = 0; i < x.size(); ++i) sum += e(i);
  }
  [[nodiscard]] double e(std::size_t i) const { return std::exp(x[i] - largest); }
};

// Kinds of rows.
namespace hard {

inline constexpr std::size_t kinds = 8;

template <class In>
void append_row(std::vector<In>& to, std::size_t columns, std::size_t kind, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> share(0.0f, 1.0f);
  float const most = std::min(1e4f, float(std::numeric_limits<In>::max()));
  std::size_t const one = random() % columns;
  for (std::size_t i = 0; i < columns; ++i) {
    switch (kind) {
      case 0:  // all equal
        to.push_back(In(-3.0f));
        break;
      case 1:  // one far above the others
        to.push_back(In(i == one ? most : normal(random)));
        break;
      case 2:  // one far below
        to.push_back(In(i == one ? -most : normal(random)));
        break;
      case 3:  // as far apart as it gets
        to.push_back(In(random() % 2 == 0 ? most : -most));
        break;
      case 4:  // of every magnitude
        to.push_back(In(normal(random) * std::exp2(40 * share(random) - 30)));
        break;
      case 5:  // e^-d is subnormal, or nearly, or just zero
        to.push_back(In(i == one ? 0.0f : -85 - 20 * share(random)));
        break;
      case 6:  // some are masked
        to.push_back(In(i != one && random() % 3 == 0 ? -float(lowp::float16::from_bits(0x7c00))
                                                      : 2 * normal(random)));
        break;
      default:
        to.push_back(In(4 * normal(random)));
    }
  }
}

}  // namespace hard

}  // namespace lowp_test
