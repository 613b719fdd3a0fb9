// SPDX-License-Identifier: Apache-2.0
// The oracle's optimizer steps and report, against other formulas, the processor, and numbers
// worked out by hand.
#include "optimizer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>

#include "report.hpp"
#include "support.hpp"

namespace {

using namespace oracle;
using oracle_test::bits;
using oracle_test::said;
using oracle_test::value;

struct inputs {
  std::uint32_t p, g, m, v;
};
inputs random_inputs(std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  const float g = normal(random);
  const float m = normal(random);
  return {bits(normal(random)), bits(g), bits(m), bits(0.5F + std::fabs(normal(random)))};
}

// PyTorch's formula, all of it in double.
TEST(oracle_optimizer, adamw_is_near_the_formula_in_double) {
  std::mt19937_64 random(25);
  for (int i = 0; i < 20000; ++i) {
    const inputs in = random_inputs(random);
    const std::uint64_t step = 1 + random() % 1000;
    adamw_settings s{.lr = 0.01, .beta1 = 0.875, .beta2 = 0.96875, .eps = 0x1p-20};
    s.weight_decay = i % 2 == 0 ? 0.0 : 0.125;
    const element got = adamw(in.p, in.g, in.m, in.v, prepare(s, step));

    const double p = value(in.p);
    const double g = value(in.g);
    const double m = s.beta1 * static_cast<double>(value(in.m)) + (1 - s.beta1) * g;
    const double v = s.beta2 * static_cast<double>(value(in.v)) + (1 - s.beta2) * g * g;
    const double c1 = 1 - std::pow(s.beta1, static_cast<double>(step));
    const double c2 = 1 - std::pow(s.beta2, static_cast<double>(step));
    const double w =
        p * (1 - s.lr * s.weight_decay) - s.lr / c1 * m / (std::sqrt(v) / std::sqrt(c2) + s.eps);
    const double ulp = 0x1p-23;
    EXPECT_NEAR(static_cast<double>(value(got.m)), m, ulp * 4);
    EXPECT_NEAR(static_cast<double>(value(got.v)), v, ulp * (1 + v));
    EXPECT_NEAR(static_cast<double>(value(got.w)), w, ulp * (0.125 + std::fabs(w)));
    EXPECT_NEAR(static_cast<double>(value(got.u)), w - p, ulp * (0.125 + std::fabs(w - p)));
    if (HasFailure()) return;
  }
}

TEST(oracle_optimizer, adamw_scalars_agree_with_double) {
  for (const std::uint64_t step : {1U, 2U, 3U, 7U, 1000U, 123456789U}) {
    const adamw_settings s{.lr = 0.003, .beta1 = 0.9, .beta2 = 0.999, .weight_decay = 0.1};
    const adamw_scalars got = prepare(s, step);
    const volatile auto B1 = static_cast<double>(0.9F);
    const volatile auto B2 = static_cast<double>(0.999F);
    const auto power = [&](double base) {
      volatile double r = 1;
      volatile double b = base;
      for (std::uint64_t n = step; n != 0; n /= 2) {
        if (n % 2 != 0) r = r * b;
        b = b * b;
      }
      return r;
    };
    const double c1 = 1 - power(B1);
    const double c2 = 1 - power(B2);
    EXPECT_EQ(got.o1, bits(static_cast<float>(1 - B1)));
    EXPECT_EQ(got.o2, bits(static_cast<float>(1 - B2)));
    EXPECT_EQ(got.b2, bits(0.999F));
    EXPECT_EQ(got.r2, bits(static_cast<float>(1 / std::sqrt(c2)))) << step;
    EXPECT_EQ(got.ns, bits(static_cast<float>(-0.003 / c1))) << step;
    EXPECT_EQ(got.nw, bits(static_cast<float>(-(0.003 * 0.1))));
    EXPECT_EQ(got.e, bits(1e-8F));
    EXPECT_TRUE(got.decays);
  }
}

// With few bits in every number all results are exact, so PyTorch's formula gives the same bits.
TEST(oracle_optimizer, sgd_is_the_formula_where_that_is_exact) {
  const float p = 3;
  const float g = 1.5F;
  const float b = -0.75F;
  for (const double momentum : {0.0, 0.5}) {
    for (const double dampening : {0.0, 0.25}) {
      for (const double decay : {0.0, 0.125}) {
        for (const bool nesterov : {false, true}) {
          for (const std::uint64_t step : {1U, 2U}) {
            const sgd_settings s{0.25, momentum, dampening, decay, nesterov};
            const element got = sgd(bits(p), bits(g), bits(b), prepare(s, step));
            const double d = 1.5 + decay * 3;
            const double next = step == 1 ? d : momentum * -0.75 + (1 - dampening) * d;
            const double x = momentum == 0 ? d : nesterov ? d + momentum * next : next;
            EXPECT_EQ(static_cast<double>(value(got.w)), 3 - 0.25 * x);
            EXPECT_EQ(static_cast<double>(value(got.u)), -0.25 * x);
            EXPECT_EQ(static_cast<double>(value(got.m)), momentum == 0 ? -0.75 : next);
          }
        }
      }
    }
  }
}

// A9 once more, in the processor's floats. The volatile variables keep a compiler from fusing a
// product and a sum that A9 keeps apart.
TEST(oracle_optimizer, sequences_agree_with_the_processor) {
  oracle_test::float_patterns patterns(26);
  std::mt19937_64 random(27);
  for (int i = 0; i < 400000; ++i) {
    inputs in = random_inputs(random);
    if (i % 2 == 0) in = {patterns.next(), patterns.next(), patterns.next(), patterns.next()};
    const float p = value(in.p);
    const float g = value(in.g);
    const float m = value(in.m);
    const float v = value(in.v);
    const bool odd = i % 3 == 0;

    ASSERT_EQ(fused_add(in.p, in.g, in.m).w, said(std::fma(g, m, p)));
    ASSERT_EQ(fused_add(in.p, in.g, in.m).u, said(g * m));

    const adamw_scalars s = prepare(adamw_settings{.weight_decay = odd ? 0.0 : 0.01}, 10);
    const volatile float d = g - m;
    const volatile float m1 = std::fma(value(s.o1), d, m);
    const volatile float h = value(s.o2) * g;
    const volatile float k = value(s.b2) * v;
    const volatile float v1 = std::fma(h, g, k);
    const volatile float root = std::sqrt(v1);
    const volatile float D = std::fma(root, value(s.r2), value(s.e));
    const volatile float a = value(s.ns) * m1;
    const volatile float q = a / D;
    const volatile float u = odd ? q : std::fma(value(s.nw), p, q);
    const element step = adamw(in.p, in.g, in.m, in.v, s);
    ASSERT_EQ(step.m, said(m1));
    ASSERT_EQ(step.v, said(v1));
    ASSERT_EQ(step.u, said(u));
    ASSERT_EQ(step.w, said(p + u));

    const sgd_scalars t = prepare(sgd_settings{0.1, 0.9, 0.2, odd ? 0.0 : 0.01, i % 5 < 2}, 2);
    const volatile float e = odd ? g : std::fma(0.01F, p, g);
    const volatile float part = 0.8F * e;
    const volatile float b = std::fma(0.9F, m, part);
    const volatile float x = i % 5 < 2 ? std::fma(0.9F, b, e) : b;
    const element moved = sgd(in.p, in.g, in.m, t);
    ASSERT_EQ(moved.m, said(b));
    ASSERT_EQ(moved.w, said(std::fma(-0.1F, x, p)));
    ASSERT_EQ(moved.u, said(-0.1F * x));
  }
}

TEST(oracle_optimizer, stored_nans_are_canonical) {
  const std::uint32_t nan = 0xffa12345U;
  EXPECT_EQ(fused_add(bits(1.0F), bits(1.0F), nan).w, canonical_nan_bits);
  const element first = sgd(bits(1.0F), nan, 0, prepare(sgd_settings{0.1, 0.9, 0, 0, false}, 1));
  EXPECT_EQ(first.w, canonical_nan_bits);
  EXPECT_EQ(first.m, canonical_nan_bits);
  const element step = adamw(bits(1.0F), nan, 0, 0, prepare(adamw_settings{}, 1));
  EXPECT_EQ(step.w, canonical_nan_bits);
  EXPECT_EQ(step.m, canonical_nan_bits);
  EXPECT_EQ(step.v, canonical_nan_bits);
  EXPECT_EQ(fused_add(bits(1.0F), bits(-2.0F), bits(0.125F)).w, bits(0.75F));
  EXPECT_EQ(fused_add(bits(1.0F), bits(-2.0F), bits(0.125F)).u, bits(-0.25F));
}

TEST(oracle_report, exact_sum_loses_nothing) {
  exact_sum sum;
  for (int i = 0; i < 70000; ++i) sum.add(bits(0x1.fffffep127F));
  sum.add(1);
  for (int i = 0; i < 70000; ++i) sum.add(bits(-0x1.fffffep127F));
  EXPECT_EQ(round_result(binary64, sum.value()), bits_of(0x1p-149));
  exact_sum other;
  for (int i = 0; i < 3; ++i) other.add(bits(-0x1p100F));
  sum += other;
  EXPECT_EQ(round_result(binary64, sum.value()), bits_of(-0x3p100));
  sum.add(bits(HUGE_VALF));
  EXPECT_EQ(round_result(binary64, sum.value()), bits_of(HUGE_VAL));
}

TEST(oracle_report, counts_worked_out_by_hand) {
  report r;
  EXPECT_EQ(r.applied_ratio(), 1.0);
  const auto store = [&](const facts& f, float u, float w, std::uint32_t old) {
    return r.store(f, bits(u), bits(w), old, mode::nearest_even, default_policy(f));
  };
  EXPECT_EQ(store(bfloat16, 0x1p-10F, 1 + 0x1p-10F, 0x3f80), 0x3f80U);
  EXPECT_EQ(r.stalled, 1U);
  EXPECT_EQ(r.applied_ratio(), 0.0);
  EXPECT_EQ(store(bfloat16, 0.0F, 1.0F, 0x3f80), 0x3f80U);  // nothing wanted: not a stall
  EXPECT_EQ(r.stalled, 1U);
  EXPECT_EQ(store(bfloat16, -0.25F, 0.75F, 0x3f80), 0x3f40U);
  EXPECT_EQ(store(bfloat16, 0.5F, 0.875F, 0x3f80), 0x3f60U);  // moved the wrong way by 1/8
  EXPECT_EQ(r.applied_ratio(), 0.125 / (0.75 + 0x1p-10));
  EXPECT_EQ(r.nonfinite + r.overflowed, 0U);

  report before = r;
  EXPECT_EQ(store(bfloat16, 1.0F, 0x1.fffffep127F, 0x7f7f), 0x7f80U);
  EXPECT_EQ(store(bfloat16, std::nanf(""), std::nanf(""), 0x7fc0), 0x7fc0U);
  EXPECT_EQ(store(float8_e4m3fn, 64.0F, 512.0F, 0x7e), 0x7eU);
  EXPECT_EQ(store(float8_e4m3fn, HUGE_VALF, HUGE_VALF, 0x7e), 0x7eU);
  EXPECT_EQ(r.count, 8U);
  EXPECT_EQ(r.overflowed, 2U);  // the first and the third; infinity does not overflow
  EXPECT_EQ(r.nonfinite, 3U);   // all but the third
  EXPECT_EQ(r.stalled, 4U);     // NaN over NaN, and both saturated ones
  EXPECT_EQ(r.applied_ratio(), 0.125 / (64.75 + 0x1p-10));

  before += r;
  EXPECT_EQ(before.count, 12U);
  EXPECT_EQ(before.stalled, 5U);
  EXPECT_EQ(before.applied_ratio(), 0.25 / (65.5 + 0x1p-9));
}

}  // namespace
