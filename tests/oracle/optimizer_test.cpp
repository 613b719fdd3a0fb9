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
  float const g = normal(random);
  float const m = normal(random);
  return {bits(normal(random)), bits(g), bits(m), bits(0.5f + std::fabs(normal(random)))};
}

// PyTorch's formula, all of it in double.
TEST(oracle_optimizer, adamw_is_near_the_formula_in_double) {
  std::mt19937_64 random(25);
  for (int i = 0; i < 20000; ++i) {
    inputs const in = random_inputs(random);
    std::uint64_t const step = 1 + random() % 1000;
    adamw_settings s{.lr = 0.01, .beta1 = 0.875, .beta2 = 0.96875, .eps = 0x1p-20};
    s.weight_decay = i % 2 == 0 ? 0.0 : 0.125;
    element const got = adamw(in.p, in.g, in.m, in.v, prepare(s, step));

    double const p = value(in.p);
    double const g = value(in.g);
    double const m = s.beta1 * static_cast<double>(value(in.m)) + (1 - s.beta1) * g;
    double const v = s.beta2 * static_cast<double>(value(in.v)) + (1 - s.beta2) * g * g;
    double const c1 = 1 - std::pow(s.beta1, static_cast<double>(step));
    double const c2 = 1 - std::pow(s.beta2, static_cast<double>(step));
    double const w =
        p * (1 - s.lr * s.weight_decay) - s.lr / c1 * m / (std::sqrt(v) / std::sqrt(c2) + s.eps);
    double const ulp = 0x1p-23;
    EXPECT_NEAR(static_cast<double>(value(got.m)), m, ulp * 4);
    EXPECT_NEAR(static_cast<double>(value(got.v)), v, ulp * (1 + v));
    EXPECT_NEAR(static_cast<double>(value(got.w)), w, ulp * (0.125 + std::fabs(w)));
    EXPECT_NEAR(static_cast<double>(value(got.u)), w - p, ulp * (0.125 + std::fabs(w - p)));
    if (HasFailure()) return;
  }
}

TEST(oracle_optimizer, adamw_scalars_agree_with_double) {
  for (std::uint64_t const step : {1U, 2U, 3U, 7U, 1000U, 123456789U}) {
    adamw_settings const s{.lr = 0.003, .beta1 = 0.9, .beta2 = 0.999, .weight_decay = 0.1};
    adamw_scalars const got = prepare(s, step);
    auto const volatile B1 = static_cast<double>(0.9f);
    auto const volatile B2 = static_cast<double>(0.999f);
    auto const power = [&](double base) {
      double volatile r = 1;
      double volatile b = base;
      for (std::uint64_t n = step; n != 0; n /= 2) {
        if (n % 2 != 0) r = r * b;
        b = b * b;
      }
      return r;
    };
    double const c1 = 1 - power(B1);
    double const c2 = 1 - power(B2);
    EXPECT_EQ(got.o1, bits(static_cast<float>(1 - B1)));
    EXPECT_EQ(got.o2, bits(static_cast<float>(1 - B2)));
    EXPECT_EQ(got.b2, bits(0.999f));
    EXPECT_EQ(got.r2, bits(static_cast<float>(1 / std::sqrt(c2)))) << step;
    EXPECT_EQ(got.ns, bits(static_cast<float>(-0.003 / c1))) << step;
    EXPECT_EQ(got.nw, bits(static_cast<float>(-(0.003 * 0.1))));
    EXPECT_EQ(got.e, bits(1e-8f));
    EXPECT_TRUE(got.decays);
  }
}

// With few bits in every number all results are exact, so PyTorch's formula gives the same bits.
TEST(oracle_optimizer, sgd_is_the_formula_where_that_is_exact) {
  float const p = 3;
  float const g = 1.5f;
  float const b = -0.75f;
  for (double const momentum : {0.0, 0.5}) {
    for (double const dampening : {0.0, 0.25}) {
      for (double const decay : {0.0, 0.125}) {
        for (bool const nesterov : {false, true}) {
          for (std::uint64_t const step : {1U, 2U}) {
            sgd_settings const s{0.25, momentum, dampening, decay, nesterov};
            element const got = sgd(bits(p), bits(g), bits(b), prepare(s, step));
            double const d = 1.5 + decay * 3;
            double const next = step == 1 ? d : momentum * -0.75 + (1 - dampening) * d;
            double const x = momentum == 0 ? d : nesterov ? d + momentum * next : next;
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
    float const p = value(in.p);
    float const g = value(in.g);
    float const m = value(in.m);
    float const v = value(in.v);
    bool const odd = i % 3 == 0;

    ASSERT_EQ(fused_add(in.p, in.g, in.m).w, said(std::fma(g, m, p)));
    ASSERT_EQ(fused_add(in.p, in.g, in.m).u, said(g * m));

    adamw_scalars const s = prepare(adamw_settings{.weight_decay = odd ? 0.0 : 0.01}, 10);
    float const volatile d = g - m;
    float const volatile m1 = std::fma(value(s.o1), d, m);
    float const volatile h = value(s.o2) * g;
    float const volatile k = value(s.b2) * v;
    float const volatile v1 = std::fma(h, g, k);
    float const volatile root = std::sqrt(v1);
    float const volatile D = std::fma(root, value(s.r2), value(s.e));
    float const volatile a = value(s.ns) * m1;
    float const volatile q = a / D;
    float const volatile u = odd ? q : std::fma(value(s.nw), p, q);
    element const step = adamw(in.p, in.g, in.m, in.v, s);
    ASSERT_EQ(step.m, said(m1));
    ASSERT_EQ(step.v, said(v1));
    ASSERT_EQ(step.u, said(u));
    ASSERT_EQ(step.w, said(p + u));

    sgd_scalars const t = prepare(sgd_settings{0.1, 0.9, 0.2, odd ? 0.0 : 0.01, i % 5 < 2}, 2);
    float const volatile e = odd ? g : std::fma(0.01f, p, g);
    float const volatile part = 0.8f * e;
    float const volatile b = std::fma(0.9f, m, part);
    float const volatile x = i % 5 < 2 ? std::fma(0.9f, b, e) : b;
    element const moved = sgd(in.p, in.g, in.m, t);
    ASSERT_EQ(moved.m, said(b));
    ASSERT_EQ(moved.w, said(std::fma(-0.1f, x, p)));
    ASSERT_EQ(moved.u, said(-0.1f * x));

    lion_scalars const l = prepare(lion_settings{0.1, 0.9, 0.99, odd ? 0.0 : 0.01});
    float const volatile c = std::fma(value(l.o1), d, m);
    float const sign = c > 0 ? 1.0f : c < 0 ? -1.0f : c;
    float const volatile b1 = -0.1f * sign;
    float const volatile u1 = odd ? b1 : std::fma(value(l.nw), p, b1);
    element const signed_step = lion(in.p, in.g, in.m, l);
    ASSERT_EQ(signed_step.m, said(std::fma(value(l.o2), d, m)));
    ASSERT_EQ(signed_step.u, said(u1));
    ASSERT_EQ(signed_step.w, said(p + u1));
  }
}

TEST(oracle_optimizer, stored_nans_are_canonical) {
  std::uint32_t const nan = 0xffa12345U;
  EXPECT_EQ(fused_add(bits(1.0f), bits(1.0f), nan).w, canonical_nan_bits);
  element const first = sgd(bits(1.0f), nan, 0, prepare(sgd_settings{0.1, 0.9, 0, 0, false}, 1));
  EXPECT_EQ(first.w, canonical_nan_bits);
  EXPECT_EQ(first.m, canonical_nan_bits);
  element const step = adamw(bits(1.0f), nan, 0, 0, prepare(adamw_settings{}, 1));
  EXPECT_EQ(step.w, canonical_nan_bits);
  EXPECT_EQ(step.m, canonical_nan_bits);
  EXPECT_EQ(step.v, canonical_nan_bits);
  EXPECT_EQ(fused_add(bits(1.0f), bits(-2.0f), bits(0.125f)).w, bits(0.75f));
  EXPECT_EQ(fused_add(bits(1.0f), bits(-2.0f), bits(0.125f)).u, bits(-0.25f));
}

TEST(oracle_report, exact_sum_loses_nothing) {
  exact_sum sum;
  for (int i = 0; i < 70000; ++i) sum.add(bits(0x1.fffffep127f));
  sum.add(1);
  for (int i = 0; i < 70000; ++i) sum.add(bits(-0x1.fffffep127f));
  EXPECT_EQ(round_result(binary64, sum.value()), bits_of(0x1p-149));
  exact_sum other;
  for (int i = 0; i < 3; ++i) other.add(bits(-0x1p100f));
  sum += other;
  EXPECT_EQ(round_result(binary64, sum.value()), bits_of(-0x3p100));
  sum.add(bits(HUGE_VALF));
  EXPECT_EQ(round_result(binary64, sum.value()), bits_of(HUGE_VAL));
}

TEST(oracle_report, counts_worked_out_by_hand) {
  report r;
  EXPECT_EQ(r.applied_ratio(), 1.0);
  auto const store = [&](facts const& f, float u, float w, std::uint32_t old) {
    return r.store(f, bits(u), bits(w), old, mode::nearest_even, default_policy(f));
  };
  EXPECT_EQ(store(bfloat16, 0x1p-10f, 1 + 0x1p-10f, 0x3f80), 0x3f80U);
  EXPECT_EQ(r.stalled, 1U);
  EXPECT_EQ(r.applied_ratio(), 0.0);
  EXPECT_EQ(store(bfloat16, 0.0f, 1.0f, 0x3f80), 0x3f80U);  // nothing wanted: not a stall
  EXPECT_EQ(r.stalled, 1U);
  EXPECT_EQ(store(bfloat16, -0.25f, 0.75f, 0x3f80), 0x3f40U);
  EXPECT_EQ(store(bfloat16, 0.5f, 0.875f, 0x3f80), 0x3f60U);  // moved the wrong way by 1/8
  EXPECT_EQ(r.applied_ratio(), 0.125 / (0.75 + 0x1p-10));
  EXPECT_EQ(r.nonfinite + r.overflowed, 0U);

  report before = r;
  EXPECT_EQ(store(bfloat16, 1.0f, 0x1.fffffep127f, 0x7f7f), 0x7f80U);
  EXPECT_EQ(store(bfloat16, std::nanf(""), std::nanf(""), 0x7fc0), 0x7fc0U);
  EXPECT_EQ(store(float8_e4m3fn, 64.0f, 512.0f, 0x7e), 0x7eU);
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
