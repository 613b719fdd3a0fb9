// SPDX-License-Identifier: Apache-2.0
// Distance of a step from PyTorch's formula evaluated in double, and from PyTorch's own results in
// float. peers/torch/steps_test.cmake asks the real one.
#include <gtest/gtest.h>
#include <lowp/lowp.hpp>
#include <lowp/measure.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "cuda/simulated_grid.hpp"
#include "formulas.hpp"
#include "support/refusals.hpp"

namespace {

using namespace torch_formulas;

constexpr std::size_t parameters = 4000;

// In ulps of float at the larger of the two magnitudes.
double ulps(double got, double exact, double before) {
  auto const larger = static_cast<float>(std::max(std::fabs(before), std::fabs(exact)));
  return std::fabs(got - exact) / static_cast<double>(std::nextafter(larger, HUGE_VALF) - larger);
}

// A tensor in training: after `step` - 1 steps of AdamW in double, on gradients of very different
// sizes, some with a trend.
struct inputs {
  std::vector<float> p, g, m, v;
};
inputs random_inputs(std::uint64_t seed, std::uint64_t step, lowp::adamw const& a) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> magnitude(-6, 1);
  inputs in;
  for (std::size_t i = 0; i < parameters; ++i) {
    float const size = std::pow(10.0f, magnitude(random));
    float const trend = i % 2 == 0 ? 0.0f : normal(random);
    double m = 0;
    double v = 0;
    for (std::uint64_t t = 1; t < step; ++t) {
      double const g = size * (trend + normal(random));
      m = a.beta1 * m + (1 - a.beta1) * g;
      v = a.beta2 * v + (1 - a.beta2) * g * g;
    }
    in.p.push_back(normal(random));
    in.g.push_back(size * (trend + normal(random)));
    in.m.push_back(static_cast<float>(m));
    in.v.push_back(static_cast<float>(v));
  }
  return in;
}

// The step's betas are floats, and 1 - beta2 is then 1e-5 of itself away from the 1 - beta2 of
// 0.999. That belongs to the number, not to the step. So the formula in double gets the same two
// numbers.
lowp::adamw with_float_betas(lowp::adamw a) {
  a.beta1 = static_cast<double>(static_cast<float>(a.beta1));
  a.beta2 = static_cast<double>(static_cast<float>(a.beta2));
  return a;
}

constexpr std::array rates{1e-5, 1e-4, 1e-3, 1e-2, 1e-1};

// In ulps of max(|p|, |p'|), or of the terms of the step if they are larger than both. Then p and
// the step cancel, or gradient and momentum do. No formula in float stays within 4 ulp of the small
// rest. PyTorch's own is up to 13 ulp away.
TEST(accuracy, one_adamw_step_is_within_4_ulp_of_the_formula_in_double) {
  double worst = 0;
  for (auto const& [beta1, beta2] : {std::array{0.9, 0.999}, {0.875, 0.96875}, {0.95, 0.98}})
    for (std::uint64_t const step : {1U, 2U, 3U, 10U, 300U}) {
      lowp::adamw a = with_float_betas({.beta1 = beta1, .beta2 = beta2});
      inputs const in = random_inputs(step, step, a);
      for (double const lr : rates)
        for (double const decay : {0.0, 0.01, 0.1}) {
          a.lr = lr;
          a.weight_decay = decay;
          inputs out = in;
          lowp::update(out.p, out.g, out.m, out.v, a, step);
          for (std::size_t i = 0; i < parameters; ++i) {
            double p = in.p[i];
            double m = in.m[i];
            double v = in.v[i];
            adamw<double>(p, in.g[i], m, v, a, {a, step});
            double const momentum = a.beta1 * std::fabs(in.m[i]);
            double const step_size = lr / (1 - std::pow(a.beta1, static_cast<double>(step)));
            double const root = std::sqrt(v / (1 - std::pow(a.beta2, static_cast<double>(step))));
            double const terms =
                step_size * (momentum + (1 - a.beta1) * std::fabs(in.g[i])) / (root + a.eps);
            double const error = ulps(out.p[i], p, std::max<double>(std::fabs(in.p[i]), terms));
            worst = std::max(worst, error);
            ASSERT_LE(error, 4) << "lr " << lr << ", decay " << decay << ", betas " << beta1 << ' '
                                << beta2 << ", step " << step << ", p " << in.p[i] << ", g "
                                << in.g[i] << ", m " << in.m[i] << ", v " << in.v[i];
          }
        }
    }
  std::printf("worst of an AdamW step: %.2f ulp\n", worst);
}

TEST(accuracy, one_sgd_step_is_within_4_ulp_of_the_formula_in_double) {
  double worst = 0;
  inputs const in = random_inputs(1000, 5, {});
  for (double const lr : rates)
    for (double const decay : {0.0, 0.01, 0.1})
      for (double const momentum : {0.0, 0.9, 0.99})
        for (double const dampening : {0.0, 0.5})
          for (std::uint64_t const step : {1U, 2U, 1000U}) {
            bool const nesterov = momentum != 0 && dampening == 0 && step != 2;
            lowp::sgd const s{lr, momentum, dampening, decay, nesterov};
            inputs out = in;
            lowp::update(out.p, out.g, out.m, s, step);
            for (std::size_t i = 0; i < parameters; ++i) {
              double p = in.p[i];
              double b = in.m[i];
              sgd<double>(p, in.g[i], b, s, step);
              double const d = std::fabs(in.g[i]) + decay * std::fabs(in.p[i]);
              double const terms = lr * (momentum * std::fabs(in.m[i]) + d) * (nesterov ? 2 : 1);
              double const error = ulps(out.p[i], p, std::max<double>(std::fabs(in.p[i]), terms));
              worst = std::max(worst, error);
              ASSERT_LE(error, 4) << "lr " << lr << ", decay " << decay << ", momentum " << momentum
                                  << ", dampening " << dampening << ", step " << step;
            }
          }
  std::printf("worst of an SGD step: %.2f ulp\n", worst);
}

// The formula's interpolation gives the sign if it is above its own error in float.
TEST(accuracy, one_lion_step_is_within_2_ulp_of_the_formula_in_double) {
  double worst = 0;
  std::size_t unsure = 0, all = 0;
  for (auto const& [beta1, beta2] : {std::array{0.9, 0.99}, {0.95, 0.98}, {0.25, 0.5}}) {
    lowp::lion l{.beta1 = static_cast<double>(static_cast<float>(beta1)),
                 .beta2 = static_cast<double>(static_cast<float>(beta2))};
    inputs in = random_inputs(77, 5, {.beta1 = beta1});
    for (std::size_t i = 0; i < parameters; i += 5) in.g[i] = -in.m[i] * 9;  // nearly cancel
    for (double const lr : rates)
      for (double const decay : {0.0, 0.01, 3.0}) {
        l.lr = lr;
        l.weight_decay = decay;
        inputs out = in;
        lowp::update(out.p, out.g, out.m, l, 5);
        for (std::size_t i = 0; i < parameters; ++i) {
          double const g = in.g[i], m = in.m[i];
          double p = in.p[i], next = m;
          lion<double>(p, in.g[i], next, l);
          double const terms = std::max(std::fabs(m), std::fabs(g));
          ASSERT_LE(ulps(out.m[i], next, terms), 2) << m << ' ' << g;
          ++all;
          if (std::fabs(l.beta1 * m + (1 - l.beta1) * g) <= 0x1p-22 * terms) {
            ++unsure;
            continue;
          }
          double const error = ulps(out.p[i], p, std::max<double>(std::fabs(in.p[i]), lr));
          worst = std::max(worst, error);
          ASSERT_LE(error, 2) << "lr " << lr << ", decay " << decay << ", p " << in.p[i];
        }
      }
  }
  EXPECT_GT(unsure, 0U);
  EXPECT_LT(unsure, all / 10);
  std::printf("worst of a Lion step: %.2f ulp; %zu of %zu signs unsure\n", worst, unsure, all);
}

// Small decays arrive too: they meet the step before the sum with p is rounded.
TEST(accuracy, sgd_takes_a_given_direction_within_2_ulp_of_the_formula_in_double) {
  double worst = 0;
  inputs const in = random_inputs(78, 1, {});
  for (double const lr : rates)
    for (double const decay : {0.0, 0.01, 0.1}) {
      inputs out = in;
      lowp::update(out.p, out.g, lowp::sgd{.lr = lr, .weight_decay = decay}, 1);
      for (std::size_t i = 0; i < parameters; ++i) {
        double const p = in.p[i], o = in.g[i];
        double const exact = p * (1 - lr * decay) - lr * o;
        double const terms = lr * (std::fabs(o) + decay * std::fabs(p));
        double const error = ulps(out.p[i], exact, std::max(std::fabs(p), terms));
        worst = std::max(worst, error);
        ASSERT_LE(error, 2) << "lr " << lr << ", decay " << decay << ", p " << p << ", o " << o;
      }
    }
  std::printf("worst of a step along a given direction: %.2f ulp\n", worst);
}

struct distance {
  double largest = 0;
  double sum = 0;
  void add(double error) {
    largest = std::max(largest, error);
    sum += error;
  }
};

constexpr std::size_t steps = 1000;

// Gradients pull each parameter to a target of its own, with noise.
float gradient(std::size_t step, std::size_t i, float p) {
  static std::vector<float> const noises = [] {
    std::vector<float> all(steps * parameters);
    std::mt19937_64 random(8);
    std::normal_distribution<float> noise(0, 0.3f);
    for (float& x : all) x = noise(random);
    return all;
  }();
  static std::vector<float> const targets = [] {
    std::vector<float> all(parameters);
    for (std::size_t each = 0; each < parameters; ++each)
      all[each] = std::sin(static_cast<float>(each));
    return all;
  }();
  return (p - targets[i]) * 0.1f + noises[(step - 1) * parameters + i];
}

class trajectory : public testing::TestWithParam<double> {};
INSTANTIATE_TEST_SUITE_P(rates, trajectory, testing::ValuesIn(rates), [](auto const& rate) {
  return "lr_1e_" + std::to_string(static_cast<int>(std::lround(-std::log10(rate.param))));
});

// Gradients are the same for all three, so that the distance is the optimizer's doing alone.
TEST_P(trajectory, of_1000_adamw_steps_is_no_farther_from_double_than_pytorchs_float) {
  lowp::adamw const a = {.lr = GetParam(), .weight_decay = 0.01};
  inputs const start = random_inputs(7, 1, {});
  std::vector<float> p = start.p;
  std::vector<float> m(parameters);
  std::vector<float> v(parameters);
  std::vector<float> torch_p = p;
  std::vector<float> torch_m = m;
  std::vector<float> torch_v = v;
  std::vector<double> exact_p(p.begin(), p.end());
  std::vector<double> exact_m(parameters);
  std::vector<double> exact_v(parameters);
  std::vector<float> g(parameters);
  for (std::uint64_t step = 1; step <= steps; ++step) {
    bias_corrections const corrections(a, step);
    for (std::size_t i = 0; i < parameters; ++i)
      g[i] = gradient(step, i, static_cast<float>(exact_p[i]));
    lowp::update(p, g, m, v, a, step);
    for (std::size_t i = 0; i < parameters; ++i) {
      adamw<double>(exact_p[i], g[i], exact_m[i], exact_v[i], a, corrections);
      adamw<float>(torch_p[i], g[i], torch_m[i], torch_v[i], a, corrections);
    }
  }
  distance mine;
  distance torch;
  for (std::size_t i = 0; i < parameters; ++i) {
    mine.add(ulps(p[i], exact_p[i], start.p[i]));
    torch.add(ulps(torch_p[i], exact_p[i], start.p[i]));
  }
  std::printf("after 1000 steps: largest %.1f, mean %.3f ulp; PyTorch's float %.1f, %.3f\n",
              mine.largest, mine.sum / parameters, torch.largest, torch.sum / parameters);
  EXPECT_LE(mine.largest, torch.largest);
  EXPECT_LE(mine.sum, torch.sum);
}

// Second moments and the direction, each step in double from what the library has before it.
struct factored {
  std::size_t rows, columns;
  std::vector<lowp::bfloat16> g = std::vector<lowp::bfloat16>(rows * columns);
  std::vector<float> row = std::vector<float>(rows), column = std::vector<float>(columns);
  std::vector<float> u = std::vector<float>(rows * columns);

  double value(std::size_t r, std::size_t c) const { return double{float(g[r * columns + c])}; }
  void draw(std::mt19937_64& random) {
    std::normal_distribution<float> normal;
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < columns; ++c)
        g[r * columns + c] = lowp::bfloat16(
            std::ldexp(normal(random), -static_cast<int>(r % 7 + c % 11 + (c % 5 == 4 ? 40 : 0))));
  }
};

template <class Run>
void expect_factored(std::size_t rows, std::size_t columns, bool is_vector, Run const& run) {
  constexpr double unit = 0x1p-24;
  lowp::adafactor const a;
  double const eps = a.eps1;
  auto const n = static_cast<double>(columns);
  auto const height = static_cast<double>(rows);
  factored x{rows, columns};
  std::mt19937_64 random(rows + columns);
  for (std::uint64_t step = 1; step <= 3; ++step) {
    x.draw(random);
    factored const before = x;
    run(x, a, step);
    double const w = std::pow(static_cast<double>(step), a.beta2_decay);
    double mean = 0;
    for (std::size_t c = 0; c < columns; ++c) {
      double squares = 0;
      for (std::size_t r = 0; r < rows; ++r) squares += x.value(r, c) * x.value(r, c);
      double const want = (1 - w) * double{before.column[c]} + w * squares / height;
      ASSERT_NEAR(x.column[c], want, (20 * unit + height * 0x1p-52) * want) << c;
      mean += double{x.column[c]} / n;
    }
    for (std::size_t r = 0; r < rows; ++r) {
      double squares = 0;
      for (std::size_t c = 0; c < columns; ++c) squares += x.value(r, c) * x.value(r, c);
      double const want = (1 - w) * double{before.row[r]} + w * squares / n;
      if (!is_vector) {
        ASSERT_NEAR(x.row[r], want, unit * (n / 256 + 14) * want) << r;
      }
      double const factor = is_vector ? 1 : double{x.row[r]} / std::max(mean, eps);
      for (std::size_t c = 0; c < columns; ++c) {
        double const exact =
            x.value(r, c) / std::sqrt(std::max(factor * double{x.column[c]}, eps * eps));
        ASSERT_NEAR(x.u[r * columns + c], exact, unit * (n / 512 + 9) * std::fabs(exact)) << c;
      }
    }
  }
}

TEST(adafactor, is_within_its_bounds_of_the_formula_and_has_the_same_bits_on_a_grid) {
  for (auto const& [rows, columns] :
       {std::array<std::size_t, 2>{1, 1}, {1, 300}, {5, 7}, {37, 256}, {100, 129}, {3, 3001}})
    expect_factored(rows, columns, false, [](factored& x, lowp::adafactor const& a, auto step) {
      factored there = x;
      lowp::adafactor_direction(x.g, x.row, x.column, x.u, x.columns, a, step);
      lowp_test::simulated_grid grid(64, 3);
      ASSERT_EQ(lowp_test::refusal_of<lowp::detail::adafactor_direction_operation>(
                    lowp::cuda::on_grid<lowp_test::simulated_grid>{grid}, there.g, there.row,
                    there.column, there.u, there.columns, a, step),
                "");
      EXPECT_EQ(there.row, x.row);
      EXPECT_EQ(there.column, x.column);
      EXPECT_EQ(there.u, x.u);
    });
  for (std::size_t const size : {1U, 130U, 3001U})
    expect_factored(1, size, true, [](factored& x, lowp::adafactor const& a, auto step) {
      lowp::adafactor_direction(x.g, x.column, x.u, x.columns, a, step);
    });
}

// Rates as PyTorch's _single_tensor_adafactor has them.
TEST(adafactor, steps_along_the_direction) {
  lowp::adafactor const a{.lr = 0.125, .weight_decay = 0.5};
  lowp::sgd s = a.along(8, 6, 4, 9);  // root mean squares of 4 and 3
  EXPECT_DOUBLE_EQ(s.lr, 0.125 * 4 / 3);
  EXPECT_DOUBLE_EQ(s.lr * s.weight_decay, 0.125 * 0.5);
  s = a.along(0, 1, 4, 256);
  EXPECT_DOUBLE_EQ(s.lr, 1e-3 / 16);
  EXPECT_EQ((lowp::adafactor{.lr = 0, .weight_decay = 1}.along(8, 6, 4, 1).weight_decay), 0);
}

TEST(adafactor, keeps_nan_in_its_row_and_column) {
  factored x{3, 4};
  std::fill(x.g.begin(), x.g.end(), lowp::bfloat16(1.0f));
  x.g[5] = std::numeric_limits<lowp::bfloat16>::quiet_NaN();
  lowp::adafactor_direction(x.g, x.row, x.column, x.u, 4, lowp::adafactor{}, 1);
  EXPECT_TRUE(std::isnan(x.row[1]) && std::isnan(x.column[1]) && std::isnan(x.u[5]));
  EXPECT_FALSE(std::isnan(x.row[0]) || std::isnan(x.column[0]));
}

// The default of the paper, whose square is no float.
TEST(adafactor, leaves_zeros_alone_with_a_tiny_eps) {
  factored x{3, 4};
  std::fill(x.g.begin(), x.g.end(), lowp::bfloat16(0.0f));
  std::fill(x.u.begin(), x.u.end(), 1.0f);
  lowp::adafactor_direction(x.g, x.row, x.column, x.u, 4, lowp::adafactor{.eps1 = 1e-30}, 1);
  for (float const each : x.u) EXPECT_EQ(each, 0);
}

TEST(adafactor, refuses_before_it_writes) {
  factored x{3, 4};
  factored const before = x;
  auto const refusal = [&](auto&&... arguments) {
    return lowp_test::refusal_of<lowp::detail::adafactor_direction_operation>(
        lowp::simd::this_thread{}, arguments...);
  };
  EXPECT_EQ(refusal(x.g, x.row, x.column, x.u, 4, lowp::adafactor{}, 0),
            "adafactor_direction: adafactor: step is 0, and counts from 1");
  EXPECT_EQ(refusal(x.g, x.row, x.column, x.u, 4, lowp::adafactor{.beta2_decay = 0.5}, 1),
            "adafactor_direction: adafactor: -beta2_decay is -0.5, not finite and at least 0");
  EXPECT_EQ(
      refusal(x.g, x.row, x.column, x.u, 4, lowp::adafactor{}, -1),
      "adafactor_direction: adafactor: step is 18446744073709551615, or -1, and counts from 1");
  using member = double lowp::adafactor::*;
  for (member const each : {&lowp::adafactor::lr, &lowp::adafactor::eps1, &lowp::adafactor::eps2,
                            &lowp::adafactor::d, &lowp::adafactor::weight_decay}) {
    lowp::adafactor wrong;
    wrong.*each = 1e39;
    EXPECT_NE(refusal(x.g, x.row, x.column, x.u, 4, wrong, 1).find(" is 1e+39, inf as a float"),
              std::string::npos);
  }
  EXPECT_EQ(refusal(x.g, x.row, x.column, x.u, 4, lowp::adafactor{.d = 1e-60}, 1),
            "adafactor_direction: adafactor: d is 1e-60, 0 as a float, not finite and above 0");
  EXPECT_EQ(refusal(x.g, x.column, x.u, 4, lowp::adafactor{}, 1),
            "adafactor_direction: g has 3 rows, and no row_var");
  EXPECT_EQ(refusal(x.g, x.column, x.row, x.u, 4, lowp::adafactor{}, 1),
            "adafactor_direction: row_var has 4 elements for 3 rows");
  EXPECT_EQ(refusal(x.g, std::span(x.u).first(3), x.column, x.u, 4, lowp::adafactor{}, 1),
            "adafactor_direction: row_var (12 bytes) and u (48 bytes) overlap: row_var starts 0 "
            "bytes into u");
  EXPECT_EQ(x.u, before.u);
  EXPECT_EQ(x.column, before.column);
}

}  // namespace
