// SPDX-License-Identifier: Apache-2.0
// Gradients of a whole model: what is done to each tensor, to the report of all, and what is
// refused.
#include <gtest/gtest.h>
#include <lowp/update.hpp>

#include <cfenv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/gradient_expectations.hpp"
#include "support/refusals.hpp"
#include "train/update/support.hpp"

namespace {

using namespace lowp_test;
using lowp::named;

constexpr float inf = std::numeric_limits<float>::infinity();

struct model {
  std::vector<float> a = std::vector(5, 3.0f);
  std::vector<float> b = std::vector(100, 0.5f);
  std::vector<float> none;
  auto list() { return std::vector{named{"a", a}, named{"none", none}, named{"b", b}}; }
};

TEST(gradient_list, is_unscaled_tensor_by_tensor) {
  model m;
  m.b[17] = inf;
  m.b[18] = std::nanf("");
  lowp::loss_scaler scaler{.scale = 4};
  lowp::gradient_report report;
  lowp::unscale(m.list(), scaler, report);
  EXPECT_EQ(m.a, std::vector(5, 0.75f));
  EXPECT_EQ(m.b[16], 0.125f);
  EXPECT_EQ(report.count, 105U);
  EXPECT_EQ(report.nonfinite, 2U);
  EXPECT_EQ(report.squares.value(), 5 * 0.75 * 0.75 + 98 * 0.125 * 0.125);
  EXPECT_TRUE(scaler.found_nonfinite());
  EXPECT_EQ(scaler.overflow.tensor, "b");
  EXPECT_EQ(scaler.overflow.nonfinite, 2U);
  EXPECT_EQ(scaler.overflow.count, 100U);
  scaler.update();
  EXPECT_EQ(scaler.scale, 2.0f);
}

// Each as alone with its own stream: tensor number i, which takes more than 8 bits.
TEST(gradient_list, rounds_each_tensor_with_its_own_bits) {
  using lowp::bfloat16;
  constexpr std::size_t tensors = 600, size = 40;
  std::vector<bfloat16> start;
  for (std::uint32_t const code : random_tensor<bfloat16>(size, 1, values::training).codes)
    start.push_back(slot_value<bfloat16>(code));
  std::vector<std::vector<bfloat16>> all(tensors, start);
  std::vector<named<std::span<bfloat16>>> list;
  for (auto& each : all) list.push_back({"", each});
  auto const mode = [](std::size_t tensor) {
    return lowp::stochastic{.seed = 3, .stream = (40 + std::uint64_t{tensor}) << 32 | 2};
  };
  lowp::loss_scaler scaler{.scale = 3};
  lowp::gradient_report report;
  lowp::unscale(list, scaler, report, mode(0));
  lowp::gradient_report own;
  for (std::size_t i = 0; i < tensors; ++i) {
    std::vector<bfloat16> alone = start;
    lowp::unscale(alone, scaler.inverse_scale(), own, mode(i));
    ASSERT_EQ(all[i], alone) << i;
  }
  EXPECT_EQ(report.count, own.count);
  EXPECT_NE(all[0], all[1]);
  EXPECT_NE(all[0], all[256]);

  auto const before = all;
  lowp::gradient_report const clipped = lowp::clip(list, 0.5 * report.norm(), mode(0));
  float const factor = lowp::clip_factor(clipped.norm(), 0.5 * report.norm());
  for (std::size_t i = 0; i < tensors; ++i) {
    std::vector<bfloat16> alone(size);
    lowp::scaled_cast(before[i], alone, factor, mode(i));
    ASSERT_EQ(all[i], alone) << i;
  }
}

TEST(gradient_list, is_clipped_by_the_norm_of_all) {
  model m;
  double const norm = std::sqrt(5 * 9.0 + 100 * 0.25);
  EXPECT_TRUE(same(lowp::measure(m.list()), lowp::clip(m.list(), 1e9)));
  EXPECT_EQ(m.a[0], 3.0f);
  lowp::gradient_report const before = lowp::clip(m.list(), 2.0);
  EXPECT_DOUBLE_EQ(before.norm(), norm);
  auto const factor = static_cast<float>(2.0 / (norm + 1e-6));
  EXPECT_EQ(m.a, std::vector(5, 3.0f * factor));
  EXPECT_EQ(m.b, std::vector(100, 0.5f * factor));
  EXPECT_NEAR(lowp::measure(m.list()).norm(), 2.0, 1e-5);
  lowp::clip(m.list(), 0);  // a factor of 0 is no scale, and yet allowed
  EXPECT_EQ(m.a, std::vector(5, 0.0f));
  EXPECT_EQ(m.b, std::vector(100, 0.0f));
}

// The norm rounded up has another factor.
TEST(gradient_list, is_clipped_alike_in_any_rounding_mode) {
  for (int const mode : {FE_TONEAREST, FE_UPWARD}) {
    std::vector<float> g{1, 5};
    std::vector const list{lowp::named{"g", std::span<float>(g)}};
    std::fesetround(mode);
    lowp::clip(list, 0x1.46565b693741cp+1);
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(g[0], 0x1.000002p-1f);
  }
}

// A span has the random bits of the first tensor of a list.
TEST(gradient_list, of_one_is_clipped_as_a_span) {
  using lowp::bfloat16;
  lowp::stochastic const random{.seed = 3, .stream = 4, .offset = 5};
  std::vector<bfloat16> alone(100, bfloat16(0.75f)), listed(alone);
  std::vector const list{named{"g", listed}};
  lowp::gradient_report const before = lowp::clip(alone, 2.0, random);
  EXPECT_TRUE(same(before, lowp::clip(list, 2.0, random)));
  EXPECT_EQ(before.norm(), 7.5);
  EXPECT_EQ(alone, listed);
  EXPECT_NE(alone[0], bfloat16(0.75f));
  EXPECT_EQ(refusal_of([&] { lowp::clip(alone, -1.0); }),
            "lowp::clip: max_norm is -1, not at least 0");
  std::vector<float> wide{3, 4};
  EXPECT_EQ(lowp::clip(std::span(wide), 1e9).norm(), 5);
  EXPECT_EQ(wide, (std::vector<float>{3, 4}));
}

TEST(gradient_list, that_is_not_finite_is_not_clipped) {
  for (float const bad : {inf, -inf, std::nanf("")}) {
    model m;
    m.a[3] = bad;
    EXPECT_EQ(lowp::clip(m.list(), 1.0).nonfinite, 1U);
    EXPECT_EQ(m.a[2], 3.0f);
    EXPECT_EQ(m.b, std::vector(100, 0.5f));
  }
}

TEST(gradient_list, refuses) {
  model m;
  model const fresh;
  lowp::gradient_report report;
  auto const tied = [&] { return std::vector{named{"a", m.a}, named{"", m.b}, named{"c", m.a}}; };
  EXPECT_EQ(refusal_of([&] { lowp::clip(tied(), 1.0); }),
            "lowp::clip: tensors 'a' and 'c' share memory that is written");
  lowp::loss_scaler scaler;
  EXPECT_EQ(refusal_of([&] { lowp::unscale(tied(), scaler, report); }),
            "lowp::unscale: tensors 'a' and 'c' share memory that is written");
  std::span<float> const b(m.b);
  EXPECT_EQ(refusal_of([&] {
              lowp::clip(
                  std::vector{named{"a", m.a}, named{"", b.first(60)}, named{"c", b.last(41)}},
                  1.0);
            }),
            "lowp::clip: tensors 1 and 'c' share memory that is written");
  for (double const bad : {-1.0, -double{inf}, std::nan("")})
    EXPECT_EQ(refusal_of([&] { lowp::clip(m.list(), bad); }).find("lowp::clip: max_norm is "), 0U);
  scaler.scale = 0;
  EXPECT_EQ(
      refusal_of([&] { lowp::unscale(m.list(), scaler, report); }),
      "lowp::unscale: loss_scaler: scale is 0, and its inverse is inf, not finite and above 0");
  scaler.scale = 1e-39f;
  EXPECT_EQ(refusal_of([&] { lowp::unscale(m.list(), scaler, report); }),
            "lowp::unscale: loss_scaler: scale is 1e-39, and its inverse is inf, not finite and "
            "above 0");
  EXPECT_EQ(refusal_of([&] { lowp::unscale(m.a, 1e-60, report); }),
            "lowp::unscale: inverse_scale is 1e-60, 0 as a float, not finite and above 0");
  EXPECT_EQ(m.a, fresh.a);
  EXPECT_EQ(m.b, fresh.b);
  EXPECT_EQ(report.count, 0U);
}

}  // namespace
