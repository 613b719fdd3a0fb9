// SPDX-License-Identifier: Apache-2.0
// FP8-LM's recipe: six bytes a parameter that follow fp32, with scales that fit what they scale.
#include <gtest/gtest.h>
#include <lowp/cast.hpp>
#include <lowp/update.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct state {
  std::vector<lowp::float16> weights;
  std::vector<lowp::float8_e4m3fn> gradient;
  std::vector<lowp::float8_e4m3fn> first;
  std::vector<lowp::float16> second;
  lowp::fp8_lm tensor;

  explicit state(std::size_t n)
      : weights(n, lowp::float16(0)),
        gradient(n, lowp::float8_e4m3fn(0)),
        first(n, lowp::float8_e4m3fn(0)),
        second(n, lowp::float16(0)),
        tensor{weights, gradient, first, second} {}
};

// w to its target, by gradients of very different size from tensor to tensor.
double distance_after(float gradient_size, std::uint64_t steps, lowp::update_report& report) {
  constexpr std::size_t n = 1000;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> target(n);
  std::vector<float> w(n);
  std::vector<float> g(n);
  for (std::size_t i = 0; i < n; ++i) target[i] = w[i] + 0.05f * normal(random);
  state s(n);
  s.tensor.store_weights(w);
  lowp::stochastic const rounding{.seed = 1};
  for (std::uint64_t step = 1; step <= steps; ++step) {
    lowp::cast(s.weights, w);
    for (std::size_t i = 0; i < n; ++i) {
      w[i] /= s.tensor.weight_scale;
      g[i] = gradient_size * (w[i] - target[i]);
    }
    s.tensor.store_gradient(g);
    s.tensor.update(lowp::adamw{.lr = 1e-3, .eps = 1e-12, .weight_decay = 0}, step, rounding,
                    report);
  }
  double distance = 0;
  for (std::size_t i = 0; i < n; ++i)
    distance += std::fabs(double{float(s.weights[i])} / s.tensor.weight_scale - double{target[i]});
  return distance / n;
}

// The mean distance at the start is 0.04; the wake of the last steps is a few times lr.
TEST(fp8_lm, reaches_its_target_for_gradients_of_any_size) {
  for (float const size : {1e-5f, 1.0f, 1e4f}) {
    lowp::update_report report;
    EXPECT_LT(distance_after(size, 300, report), 2e-3) << size;
    EXPECT_EQ(report.count, 300000U);
    EXPECT_EQ(report.overflowed, 0U);
    EXPECT_EQ(report.nonfinite, 0U);
    EXPECT_NEAR(report.applied_ratio(), 1, 0.02);
  }
}

TEST(fp8_lm, scales_leave_room_and_do_not_waste_it) {
  state s(256);
  std::vector<float> w(256, 0.02f);
  s.tensor.store_weights(w);
  EXPECT_EQ(s.tensor.weight_scale, 0x1p21f);  // 65504 / 0.02 is 2^21.6
  std::vector<float> g(256, 3e-6f);
  s.tensor.store_gradient(g);
  EXPECT_EQ(s.tensor.gradient_scale, 0x1p27f);  // 448 / 3e-6 is 2^27.2
  s.tensor.update(lowp::adamw{.lr = 1e-4}, 1, lowp::nearest_even{});
  double const m = 0.1 * float(s.gradient[0]) / s.tensor.gradient_scale;
  double const v = 0.001 * std::pow(float(s.gradient[0]) / s.tensor.gradient_scale, 2);
  EXPECT_GT(m * s.tensor.first_scale, 200);
  EXPECT_LE(m * s.tensor.first_scale, 448);
  EXPECT_GT(v * s.tensor.second_scale, 30000);
  EXPECT_LE(v * s.tensor.second_scale, 65504);
  EXPECT_NEAR(float(s.first[0]) / s.tensor.first_scale, m, m / 16);
  EXPECT_NEAR(float(s.second[0]) / s.tensor.second_scale, v, v / 1024);
}

TEST(fp8_lm, has_six_bytes) { EXPECT_EQ(lowp::fp8_lm::bytes, 6U); }

TEST(fp8_lm, refuses_moments_of_another_size) {
  state s(4);
  s.tensor.first = s.tensor.first.first(3);
  try {
    s.tensor.update(lowp::adamw{}, 1, lowp::nearest_even{});
    FAIL() << "not refused";
  } catch (std::invalid_argument const& error) {
    EXPECT_STREQ(error.what(), "lowp::update: sizes differ: p has 4, g has 4, m has 3, v has 4");
  }
  EXPECT_EQ(s.tensor.first_scale, 1);
}

// No bound is made of them.
TEST(fp8_lm, refuses_wrong_hyper_parameters) {
  state s(4);
  for (lowp::adamw const& wrong :
       {lowp::adamw{.lr = std::numeric_limits<double>::quiet_NaN()}, lowp::adamw{.lr = 1e39}})
    try {
      s.tensor.update(wrong, 1, lowp::nearest_even{});
      FAIL() << "not refused";
    } catch (std::invalid_argument const& error) {
      EXPECT_EQ(std::string(error.what()).find("lowp::update: adamw: lr is "), 0U) << error.what();
    }
}

TEST(fp8_lm, keeps_its_scales_if_it_refuses_values) {
  state s(4);
  float const weight_scale = s.tensor.weight_scale;
  std::vector<float> const three(3, 1000.0f);
  EXPECT_THROW(s.tensor.store_weights(three), std::invalid_argument);
  EXPECT_THROW(s.tensor.store_gradient(three), std::invalid_argument);
  EXPECT_EQ(s.tensor.weight_scale, weight_scale);
  EXPECT_EQ(s.tensor.gradient_scale, 1);
}

template <class... Report>
concept takes_reports = requires(lowp::fp8_lm& tensor, Report&... report) {
  tensor.update(lowp::adamw{}, 1, lowp::nearest_even{}, report...);
};
static_assert(takes_reports<> && takes_reports<lowp::update_report>);
static_assert(!takes_reports<int> && !takes_reports<lowp::update_report const>);
static_assert(!takes_reports<lowp::update_report, lowp::update_report>);

}  // namespace
