// SPDX-License-Identifier: Apache-2.0
// A tensor in training, here and on a GPU.
#pragma once

#include <gtest/gtest.h>
#include <lowp/cuda/lowp.cuh>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "device_memory.hpp"

namespace lowp_test {

struct trained {
  explicit trained(std::size_t size) : p(size), g(size), m(size), v(size) {
    std::mt19937_64 random(size);
    std::normal_distribution<float> normal;
    for (lowp::bfloat16& x : p) x = lowp::bfloat16(normal(random));
    for (lowp::bfloat16& x : g) x = lowp::bfloat16(normal(random) * 1e-2f);
  }
  void step(std::uint64_t number, lowp::stochastic const& rounding, lowp::update_report& report) {
    lowp::update(p, g, m, v, lowp::adamw{}, number, rounding, report);
  }
  std::vector<lowp::bfloat16> p, g;
  std::vector<float> m, v;
};
struct trained_on_device {
  explicit trained_on_device(trained const& from, std::size_t lead = 0)
      : p(from.p, lead), g(from.g, lead), m(from.m, lead), v(from.v, lead) {}
  [[nodiscard]] bool equals(trained const& other) const {
    return same_bits(p.read(), other.p) && same_bits(m.read(), other.m) &&
           same_bits(v.read(), other.v);
  }
  device_range<lowp::bfloat16> p, g;
  device_range<float> m, v;
};

inline void expect_same(lowp::update_report const& got, lowp::update_report const& want) {
  EXPECT_EQ(got.count, want.count);
  EXPECT_EQ(got.stalled, want.stalled);
  EXPECT_EQ(got.overflowed, want.overflowed);
  EXPECT_EQ(got.nonfinite, want.nonfinite);
  EXPECT_NEAR(got.applied.value(), want.applied.value(), 1e-6 * want.requested.value());
  EXPECT_NEAR(got.requested.value(), want.requested.value(), 1e-6 * want.requested.value());
}

}  // namespace lowp_test
