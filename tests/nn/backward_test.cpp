// SPDX-License-Identifier: Apache-2.0
// The derivatives of the pieces that do not overflow. Their formulas in long double hold them to
// the bounds of their headers. Differences of the functions in double hold the formulas.
#include <lowp/nn.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "support/activations.hpp"
#include "support/nearly_equal_rows.hpp"
#include "support/row_support.hpp"
#include "support/strided.hpp"

namespace {

using namespace lowp_test;
using real = long double;

template <class Pair>
class backward : public testing::Test {};
using pairs = first_or_all<
    1, testing::Types<in_and_out<float, float>, in_and_out<lowp::float16, lowp::bfloat16>>>;
TYPED_TEST_SUITE(backward, pairs);

constexpr real u = 0x1p-24L;

// Derivatives that are hard to add: huge, subnormal, cancelling, of every magnitude.
constexpr std::size_t gradient_kinds = 6;
template <class T>
T gradient(std::size_t kind, std::size_t i, std::mt19937& random) {
  using limits = std::numeric_limits<T>;
  std::normal_distribution<float> normal;
  float const most = float(limits::max());
  float const x = normal(random);
  switch (kind) {
    case 0:
      return T(x);
    case 1:
      return T(random() % 3 == 0 ? most : random() % 2 == 0 ? -most : x);
    case 2:
      return T(float(limits::denorm_min()) * std::round(20 * x));
    case 3:
      return T(i % 2 == 0 ? most / 4 : -most / 4);
    case 4:
      return T(std::ldexp(x, static_cast<int>(random() % 30) - 20));
    default:
      return T(0.75f);
  }
}
template <class T>
std::vector<T> gradients(std::size_t rows, std::size_t columns, std::mt19937& random) {
  std::vector<T> all;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t i = 0; i < columns; ++i)
      all.push_back(gradient<T>((r + columns) % gradient_kinds, i, random));
  return all;
}
template <class T>
std::vector<T> hard_rows(std::size_t rows, std::size_t columns, std::mt19937& random) {
  std::vector<T> all;
  for (std::size_t r = 0; r < rows; ++r) hard::append_row(all, columns, r % hard::kinds, random);
  return all;
}

template <class Out>
testing::AssertionResult is_near(Out got, real want, real bound) {
  real const largest = largest_finite<Out>();
  auto const x = real{float(got)};
  if (std::fabs(want) + bound > largest) {  // may round to infinity
    bool const has_any_sign = bound - std::fabs(want) > largest;
    if (std::fabs(x) >= largest - bound && (has_any_sign || std::signbit(x) == std::signbit(want)))
      return testing::AssertionSuccess();
  } else if (std::fabs(x - want) <= bound + half_gap<Out>(static_cast<double>(want))) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure()
         << shown(float(got)) << ", not within " << static_cast<double>(bound) << " of "
         << static_cast<double>(want);
}

// check(number of a row, its y, dy and dx)
template <class In, class Out, class Run, class Check>
void over_hard_rows(bool is_log, Run const& run, Check const& check) {
  std::mt19937 random(11);
  for (std::size_t const columns : row_lengths()) {
    std::size_t const rows = columns < 300 ? 2 * hard::kinds : hard::kinds;
    std::vector<In> y = hard_rows<In>(rows, columns, random);
    is_log ? lowp::log_softmax(y, y, columns) : lowp::softmax(y, y, columns);
    std::vector<In> const dy = gradients<In>(rows, columns, random);
    std::vector<Out> dx(y.size());
    run(y, dy, dx, columns);
    for (std::size_t r = 0; r < rows; ++r) {
      auto const row = [&](auto const& all) {
        return std::span(all).subspan(r * columns, columns);
      };
      check(row(y), row(dy), row(dx));
      if (testing::Test::HasFatalFailure()) FAIL() << "in row " << r << " of " << columns;
    }
  }
}

template <class In, class Out>
void check_softmax(std::span<In const> y, std::span<In const> dy, std::span<Out const> dx,
                   real scale = 1) {
  auto const n = static_cast<real>(y.size());
  real sum = 0;
  real size = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    real const term = real{float(y[i])} * float(dy[i]);
    sum += term;
    size += std::fabs(term);
  }
  for (std::size_t i = 0; i < y.size(); ++i) {
    auto const p = real{float(y[i])};
    real const want = p * (float(dy[i]) - sum);
    real bound = u * ((n / 256 + 11) * p * size + 2 * std::fabs(want)) + 0x1p-148L * (1 + n * p);
    if (scale != 1) bound = std::fabs(scale) * (bound + u * std::fabs(want)) + 0x1p-149L;
    ASSERT_TRUE(is_near(dx[i], scale * want, bound)) << i;
  }
}

constexpr float scale_of_scores = 0.0883f;

TYPED_TEST(backward, softmax) {
  using In = typename TypeParam::in;
  using Out = typename TypeParam::out;
  over_hard_rows<In, Out>(
      false,
      [](auto& y, auto& dy, auto& dx, std::size_t n) { lowp::softmax_backward(y, dy, dx, n); },
      [](auto y, auto dy, auto dx) { check_softmax<In, Out>(y, dy, dx); });
  over_hard_rows<In, Out>(
      false,
      [](auto& y, auto& dy, auto& dx, std::size_t n) {
        lowp::scale_mask_softmax_backward(y, dy, dx, n, scale_of_scores);
      },
      [](auto y, auto dy, auto dx) { check_softmax<In, Out>(y, dy, dx, scale_of_scores); });
}

TYPED_TEST(backward, log_softmax) {
  using In = typename TypeParam::in;
  using Out = typename TypeParam::out;
  over_hard_rows<In, Out>(
      true,
      [](auto& y, auto& dy, auto& dx, std::size_t n) { lowp::log_softmax_backward(y, dy, dx, n); },
      [](auto y, auto dy, auto dx) {
        auto const n = static_cast<real>(y.size());
        real sum = 0;
        real size = 0;
        for (auto const each : dy) sum += real{float(each)}, size += std::fabs(real{float(each)});
        for (std::size_t i = 0; i < y.size(); ++i) {
          real const p = std::exp(real{float(y[i])});
          real const want = float(dy[i]) - p * sum;
          ASSERT_TRUE(
              is_near(dx[i], want,
                      u * (p * (n / 256 + 11) * size + std::fabs(want)) + 0x1p-148L * (1 + size)))
              << i;
        }
      });
}

// A masked score has y = 0. There dy may be anything, and dx is 0.
TEST(backward_softmax, of_what_is_masked) {
  for (std::size_t const columns : {1U, 5U, 16U, 300U, 9000U}) {
    std::vector<float> y(2 * columns);
    std::vector<float> dy(2 * columns, 3.0f);
    for (std::size_t i = 0; i < columns; i += 2) y[i] = 0.5f, y[i + columns] = 0;
    dy[1 % columns] = dy[columns] = columns == 1 ? 3.0f : NAN;
    dy[2 * columns - 1] = -HUGE_VALF;
    std::vector<float> dx(y.size(), 7.0f);
    lowp::scale_mask_softmax_backward(y, dy, dx, columns, 2.0f);
    for (std::size_t i = 0; i < dx.size(); ++i) {
      ASSERT_TRUE(std::isfinite(dx[i])) << i << " of " << columns;
      if (y[i] == 0) {
        ASSERT_TRUE(has_bits(dx[i], 0U, columns, i));
      }
    }
  }
}

// NaN and infinity reach their row, and no other.
TEST(backward_softmax, one_nan_or_infinity_makes_its_row_nan) {
  for (float const bad : {NAN, -NAN, HUGE_VALF})
    for (std::size_t const columns : {1U, 3U, 16U, 300U, 8200U}) {
      std::vector<float> const y(3 * columns, 0.25f);
      std::vector<float> dy(3 * columns, 1.0f);
      dy[columns + columns / 2] = bad;
      std::vector<float> dx(y.size());
      for (bool const is_log : {false, true}) {
        is_log ? lowp::log_softmax_backward(y, dy, dx, columns)
               : lowp::softmax_backward(y, dy, dx, columns);
        for (std::size_t i = 0; i < dx.size(); ++i) {
          bool const is_bad = i / columns == 1;
          bool const is_canonical = float_bits(dx[i]) == 0x7fc00000U;
          ASSERT_TRUE(is_bad ? is_canonical || std::isinf(dx[i]) : std::isfinite(dx[i])) << i;
        }
      }
    }
}

// The derivative of sum of dy * f(x), by differences in double.
template <class F>
void expect_derivative(std::vector<double> x, std::vector<float> const& dy,
                       std::vector<float> const& dx, F const& f) {
  auto const value = [&] {
    double sum = 0;
    std::vector<double> const y = f(x);
    for (std::size_t i = 0; i < y.size(); ++i) sum += dy[i] * y[i];
    return sum;
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    constexpr double h = 1e-5;
    double const was = x[i];
    x[i] = was + h;
    double const above = value();
    x[i] = was - h;
    double const below = value();
    x[i] = was;
    EXPECT_NEAR(dx[i], (above - below) / (2 * h), 2e-6) << i;
  }
}

std::vector<double> softmax_in_double(std::vector<double> const& x) {
  double sum = 0;
  std::vector<double> p;
  for (double const each : x) sum += std::exp(each);
  for (double const each : x) p.push_back(std::exp(each) / sum);
  return p;
}

class differences : public testing::Test {
 protected:
  std::vector<float> const x{0.5f, -1.25f, 2.0f, 0.0f, -3.0f, 1.5f, 0.75f};
  std::vector<float> const dy{1.0f, -0.5f, 0.25f, 2.0f, -1.5f, 0.0f, 0.5f};
  std::vector<double> const exact{x.begin(), x.end()};
  std::size_t const n = x.size();
  std::vector<float> y = x;
  std::vector<float> dx = x;
};

TEST_F(differences, of_softmax) {
  lowp::softmax(x, y, n);
  lowp::softmax_backward(y, dy, dx, n);
  expect_derivative(exact, dy, dx, softmax_in_double);
}
TEST_F(differences, of_log_softmax) {
  lowp::log_softmax(x, y, n);
  lowp::log_softmax_backward(y, dy, dx, n);
  expect_derivative(exact, dy, dx, [](auto const& at) {
    auto p = softmax_in_double(at);
    for (double& each : p) each = std::log(each);
    return p;
  });
}
TEST_F(differences, of_scale_mask_softmax) {
  std::vector<float> const mask{0, -1, -HUGE_VALF, 0, 0.5f, 0, 0};
  lowp::scale_mask_softmax(x, mask, y, n, -0.7f);
  lowp::scale_mask_softmax_backward(y, dy, dx, n, -0.7f);
  expect_derivative(exact, dy, dx, [&](auto const& at) {
    auto scores = at;
    for (std::size_t i = 0; i < n; ++i) scores[i] = at[i] * double{-0.7f} + mask[i];
    return softmax_in_double(scores);
  });
}
template <class Activation>
void expect_activation_derivatives(std::vector<double> const& exact, std::vector<float> const& x,
                                   std::vector<float> const& dy) {
  SCOPED_TRACE(Activation::text);
  auto const activated = [](double a) { return Activation::at(a).value; };
  std::vector<float> dx(x.size());
  std::vector<float> dup(x.size());
  Activation::backward(x, dy, dx);
  expect_derivative(exact, dy, dx, [&](auto at) {
    for (double& each : at) each = activated(each);
    return at;
  });
  std::vector<float> const up{2, -1, 3, 0.5f, -2, 4, 1};
  Activation::gated_backward(x, up, dy, dx, dup);
  expect_derivative(exact, dy, dx, [&](auto at) {
    for (std::size_t i = 0; i < at.size(); ++i) at[i] = activated(at[i]) * up[i];
    return at;
  });
  expect_derivative({up.begin(), up.end()}, dy, dup, [&](auto at) {
    for (std::size_t i = 0; i < at.size(); ++i) at[i] = activated(exact[i]) * at[i];
    return at;
  });
}
TEST_F(differences, of_activations) {
  expect_activation_derivatives<gelu_tanh>(exact, x, dy);
  expect_activation_derivatives<gelu>(exact, x, dy);
  expect_activation_derivatives<silu>(exact, x, dy);
}
TEST_F(differences, of_cross_entropy) {
  for (float const smoothing : {0.0f, 0.25f, 1.0f}) {
    std::vector<float> loss(1);
    std::vector<std::int64_t> const label{3};
    lowp::cross_entropy(x, label, n, {.label_smoothing = smoothing, .scale = 3}, loss, dx);
    auto const loss_of = [&](auto const& at) {
      auto const p = softmax_in_double(at);
      double all = 0;
      for (double const each : p) all -= std::log(each) / static_cast<double>(n);
      return (1 - smoothing) * -std::log(p[3]) + smoothing * all;
    };
    EXPECT_NEAR(loss[0], loss_of(exact), 1e-6);
    expect_derivative(exact, {3}, dx, [&](auto const& at) { return std::vector{loss_of(at)}; });
  }
}

// 16 rows in float, 16 such groups in double, and those in double: dy, or its squares by fma.
float sum_in_order(std::vector<float> const& dy, std::size_t columns, std::size_t column,
                   double more, bool has_squares = false) {
  double total = 0;
  std::size_t const rows = dy.size() / columns;
  for (std::size_t r = 0; r < rows;) {
    double groups = 0;
    for (std::size_t const end = std::min(r + 256, rows); r < end;) {
      float group = 0;
      for (std::size_t const last = std::min(r + 16, rows); r < last; ++r)
        group = has_squares ? std::fma(dy[r * columns + column], dy[r * columns + column], group)
                            : group + dy[r * columns + column];
      groups += group;
    }
    total += groups;
  }
  return static_cast<float>(more + total);
}

TEST(backward_sums, of_rows_have_one_order) {
  std::mt19937 random(2);
  for (std::size_t const rows : {0U, 1U, 15U, 17U, 256U, 257U, 300U, 1100U})
    for (std::size_t const columns : {1U, 40U, 128U, 131U, 4200U}) {
      if (columns > 4000 && rows != 300) continue;  // wider than what a thread keeps of a group
      std::vector<float> dy(rows * columns);
      for (std::size_t i = 0; i < dy.size(); ++i)
        dy[i] = i % columns % 4 == 0 ? 1.0f : gradient<float>(4, i, random);
      // Between these, a group is lost in double, and sixteen groups are not.
      if (rows > 1)
        for (std::size_t i = 0; i < columns; i += 2)
          dy[i] = 0x1p60f, dy[dy.size() - columns + i] = -0x1p60f;
      std::vector<float> sums(columns, NAN);
      lowp::add_rows(dy, sums, columns);
      std::vector<float> more(columns, 0.3f);
      lowp::add_rows(dy, lowp::added_to{more}, columns);
      std::vector<float> dweight(columns, 0.3f), dbias(columns, 0.3f), of_rows(rows, 1.0f),
          means(rows), dx(dy.size()), weight(columns, 1.0f);
      lowp::layer_norm_backward(dy, weight, dy, means, of_rows, dx, dweight, lowp::added_to{dbias},
                                columns);
      for (std::size_t i = 0; i < columns; ++i) {
        ASSERT_EQ(sums[i], sum_in_order(dy, columns, i, 0)) << rows << ' ' << i;
        ASSERT_EQ(more[i], sum_in_order(dy, columns, i, double{0.3f})) << rows << ' ' << i;
        ASSERT_EQ(dbias[i], more[i]) << rows << ' ' << i;
        ASSERT_EQ(dweight[i], sum_in_order(dy, columns, i, 0, true)) << rows << ' ' << i;
      }
    }
}

// run(y, dy, dx) over rows anywhere: in place, with a stride, each alone.
template <class T, class Run>
void expect_same_anywhere(std::vector<T> const& y, std::vector<T> const& dy, std::size_t columns,
                          Run const& run) {
  std::vector<T> want(y.size());
  run(y, dy, want);
  auto const expect_same = [&](std::vector<T> const& got, char const* where) {
    for (std::size_t i = 0; i < want.size(); ++i)
      ASSERT_TRUE(has_bits(got[i], code_of(want[i]), columns, i)) << where;
  };
  std::vector<T> place = y;
  run(place, dy, place);
  expect_same(place, "over y");
  place = dy;
  run(y, place, place);
  expect_same(place, "over dy");
  std::vector<T> alone(y.size() + 3);
  for (std::size_t first = 0; first < y.size(); first += columns)
    run(std::span(y).subspan(first, columns), std::span(dy).subspan(first, columns),
        std::span(alone).subspan(3 + first, columns));
  expect_same({alone.begin() + 3, alone.end()}, "alone");
  T const poison = std::numeric_limits<T>::quiet_NaN();
  auto const spaced_y = spread(y, columns, 1, poison);
  auto const spaced_dy = spread(dy, columns, 5, poison);
  auto spaced = spread(std::vector<T>(y.size()), columns, 3, T(-7.0f));
  run(lowp::strided_rows{spaced_y, columns + 1}, lowp::strided_rows{spaced_dy, columns + 5},
      lowp::strided_rows{spaced, columns + 3});
  expect_same(gathered(spaced, columns, 3, T(-7.0f)), "with a stride");
}

TYPED_TEST(backward, rows_lie_anywhere) {
  using T = typename TypeParam::in;
  std::mt19937 random(3);
  for (std::size_t const columns : {1U, 7U, 64U, 129U, 1000U, 8200U}) {
    std::vector<T> y = hard_rows<T>(20, columns, random);
    lowp::softmax(y, y, columns);
    auto const dy = gradients<T>(20, columns, random);
    expect_same_anywhere(y, dy, columns, [=](auto&& from, auto&& with, auto&& to) {
      lowp::softmax_backward(from, with, to, columns);
    });
    expect_same_anywhere(y, dy, columns, [=](auto&& from, auto&& with, auto&& to) {
      lowp::log_softmax_backward(from, with, to, columns);
    });
  }
}

template <class Activation, class In, class Out>
void expect_activation_backward() {
  SCOPED_TRACE(Activation::text);
  std::mt19937 random(5);
  std::vector<In> x;
  for (std::uint32_t i = 0; i < 65536; ++i) {
    float const each =
        i % 2 == 0 ? float_of(i << 16 | random() % 65536) : std::ldexp(float(int(random())), -28);
    if (std::isfinite(float(In(each)))) x.push_back(In(each));
  }
  std::vector<In> dy;
  std::vector<In> up;
  for (std::size_t i = 0; i < x.size(); ++i) {
    dy.push_back(gradient<In>(i % gradient_kinds, i, random));
    up.push_back(gradient<In>(i / gradient_kinds % 2 == 0 ? 0 : 4, i, random));
  }
  std::vector<Out> dx(x.size());
  std::vector<Out> dgate(x.size());
  std::vector<Out> dup(x.size());
  Activation::backward(x, dy, dx);
  Activation::gated_backward(x, up, dy, dgate, dup);
  for (std::size_t i = 0; i < x.size(); ++i) {
    exact_activation<real> const at = Activation::at(real{float(x[i])});
    auto const d = real{float(dy[i])};
    auto const by = real{float(up[i])};
    real const bound = std::fabs(d) * (at.slope_bound + u * std::fabs(at.slope)) + 0x1p-150L;
    ASSERT_TRUE(is_near(dx[i], d * at.slope, bound)) << shown(float(x[i])) << shown(float(dy[i]));
    real const gate = d * at.slope * by;
    // The first product may overflow: a slope exceeds 1 where x is from 1 to 6.
    if (std::fabs(d * at.slope) + bound < real{std::numeric_limits<float>::max()}) {
      ASSERT_TRUE(is_near(dgate[i], gate, std::fabs(by) * bound + u * std::fabs(gate) + 0x1p-150L))
          << shown(float(x[i]));
    }
    real const of_up = d * at.value;
    ASSERT_TRUE(
        is_near(dup[i], of_up, std::fabs(d) * at.gate_bound + u * std::fabs(of_up) + 0x1p-150L))
        << shown(float(x[i]));
  }
}

TYPED_TEST(backward, activations) {
  using In = typename TypeParam::in;
  using Out = typename TypeParam::out;
  expect_activation_backward<gelu_tanh, In, Out>();
  expect_activation_backward<gelu, In, Out>();
  expect_activation_backward<silu, In, Out>();
}

template <class Activation>
void expect_slopes_at_the_ends() {
  SCOPED_TRACE(Activation::text);
  std::vector<float> const x{HUGE_VALF, -HUGE_VALF, NAN, 1e30f, -1e30f, 0.0f, -0.0f};
  std::vector<float> const dy(x.size(), 2.0f);
  std::vector<float> dx(x.size());
  std::vector<float> dup(x.size());
  Activation::gated_backward(x, dy, dy, dx, dup);
  EXPECT_EQ(std::vector(dx.begin(), dx.begin() + 2), (std::vector<float>{4, 0}));
  EXPECT_EQ(std::vector(dup.begin(), dup.begin() + 2), (std::vector<float>{HUGE_VALF, 0}));
  EXPECT_TRUE(std::isnan(dx[2]) && std::isnan(dup[2]));
  EXPECT_EQ(std::vector(dx.begin() + 3, dx.end()), (std::vector<float>{4, 0, 2, 2}));
  EXPECT_EQ(std::vector(dup.begin() + 3, dup.end()), (std::vector<float>{2e30f, 0, 0, 0}));
  EXPECT_TRUE(std::signbit(dup[1]) && std::signbit(dup[4]) && std::signbit(dup[6]));
  EXPECT_FALSE(std::signbit(dup[5]));
}

TEST(backward_activation, at_the_ends) {
  expect_slopes_at_the_ends<gelu_tanh>();
  expect_slopes_at_the_ends<gelu>();
  expect_slopes_at_the_ends<silu>();
}

TEST(backward_activation, draws_differ_for_both_results) {
  std::vector<float> const one(4096, 1.0f);
  std::vector<lowp::bfloat16> dgate(one.size());
  std::vector<lowp::bfloat16> dup(one.size());
  std::vector<float> gate(one.size(), 0.3f);
  lowp::gated_gelu_tanh_backward(gate, one, one, dgate, dup, lowp::stochastic{.seed = 3});
  std::size_t both = 0;
  std::size_t first = 0;
  std::size_t second = 0;
  float const most_gate = float(*std::max_element(dgate.begin(), dgate.end()));
  float const most_up = float(*std::max_element(dup.begin(), dup.end()));
  for (std::size_t i = 0; i < one.size(); ++i) {
    bool const a = float(dgate[i]) == most_gate;
    bool const b = float(dup[i]) == most_up;
    first += a, second += b, both += a && b;
  }
  EXPECT_NEAR(double(both), double(first) * double(second) / 4096, 100);  // 4 deviations
}

// float8_e4m3fn saturates by default, float16 does not.
TEST(backward_activation, results_overflow_as_their_own_formats_do) {
  std::vector<float> const x(1, 100.0f);
  std::vector<float> const dy(1, 1e30f);
  std::vector<lowp::float16> wide(1);
  std::vector<lowp::float8_e4m3fn> narrow(1);
  lowp::gated_gelu_tanh_backward(x, x, dy, wide, narrow);
  EXPECT_EQ(float(wide[0]), HUGE_VALF);
  EXPECT_EQ(float(narrow[0]), 448);
  lowp::gated_gelu_tanh_backward(x, x, dy, narrow, wide);
  EXPECT_EQ(float(wide[0]), HUGE_VALF);
  EXPECT_EQ(float(narrow[0]), 448);
  lowp::gated_gelu_tanh_backward(x, x, dy, narrow, wide, lowp::nearest_even{},
                                 lowp::overflow::saturate);
  EXPECT_EQ(float(wide[0]), 65504);
}

template <class In, class Out, class Label>
void expect_cross_entropy(std::size_t columns, lowp::cross_entropy_options const& options) {
  std::mt19937 random(static_cast<unsigned>(columns));
  std::size_t const rows = 2 * hard::kinds;
  std::vector<In> const x = hard_rows<In>(rows, columns, random);
  std::vector<Label> labels(rows);
  real counted = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    labels[r] = static_cast<Label>(r % 5 == 4 ? options.ignore_index : random() % columns);
    counted += r % 5 == 4 ? 0 : 1;
  }
  std::vector<float> losses(rows);
  std::vector<Out> dx(x.size());
  lowp::sum_report report;
  lowp::cross_entropy(x, labels, columns, options, losses, dx, report);
  real total = 0;
  real size = 0;
  for (float const each : losses) {
    total += each;
    size += std::fabs(each);
  }
  ASSERT_EQ(report.count, static_cast<std::uint64_t>(counted));
  ASSERT_TRUE(std::isinf(total) ? report.value() == HUGE_VAL
                                : std::fabs(report.value() - total) <= 0x1p-48L * size);
  ASSERT_TRUE(std::isinf(total)
                  ? report.mean() == HUGE_VAL
                  : std::fabs(report.mean() - total / counted) <= 0x1.1p-48L * size / counted);
  if (options.reduction == lowp::loss_reduction::summed) counted = 1;
  auto const n = static_cast<real>(columns);
  real const eps = options.label_smoothing;
  real const scale = options.scale / counted;
  for (std::size_t r = 0; r < rows; ++r) {
    SCOPED_TRACE(testing::Message() << "row " << r << " of " << columns);
    auto const row = std::span(x).subspan(r * columns, columns);
    auto const got = std::span(dx).subspan(r * columns, columns);
    if (labels[r] == options.ignore_index) {
      ASSERT_EQ(losses[r], 0);
      for (Out const each : got) ASSERT_EQ(float(each), 0);
      continue;
    }
    auto const t = static_cast<std::size_t>(labels[r]);
    real largest = -HUGE_VALL;
    for (In const each : row) largest = std::fmax(largest, real{float(each)});
    real sum = 0;
    real below = 0;
    for (In const each : row) {
      sum += std::exp(float(each) - largest);
      below += (largest - float(each)) / n;
    }
    real const of_label = largest - float(row[t]);
    real const loss = std::log(sum) + (1 - eps) * of_label + (eps == 0 ? 0 : eps * below);
    if (std::isinf(loss)) {
      ASSERT_EQ(losses[r], HUGE_VALF);
    } else {
      ASSERT_TRUE(is_near(losses[r], loss,
                          u * (4 * of_label + 5 * std::log(n) +
                               (n / 256 + 13) * (1 + (eps == 0 ? 0 : eps * below)))));
    }
    for (std::size_t i = 0; i < columns; ++i) {
      real const d = largest - float(row[i]);
      real const p = std::exp(-d) / sum;
      real const q = eps / n + (i == t ? 1 - eps : 0);
      real const near_p = p == 0 ? 0 : p * (d + std::log(n) + n / 256 + 17);
      ASSERT_TRUE(is_near(got[i], scale * (p - q),
                          std::fabs(scale) * (u * (near_p + 6 * q) + 0x1p-148L) + 0x1p-149L))
          << i << (i == t ? ", the label" : "");
    }
  }
}

TYPED_TEST(backward, cross_entropy) {
  using In = typename TypeParam::in;
  using Out = typename TypeParam::out;
  for (std::size_t const columns : row_lengths()) {
    expect_cross_entropy<In, Out, std::int64_t>(columns, {});
    expect_cross_entropy<In, Out, std::int64_t>(
        columns,
        {.label_smoothing = 0.1f, .reduction = lowp::loss_reduction::summed, .scale = -1024});
    if (this->HasFatalFailure()) return;
  }
  expect_cross_entropy<In, Out, std::int32_t>(40, {.ignore_index = 3, .label_smoothing = 1});
}

TYPED_TEST(backward, cross_entropy_lies_anywhere) {
  using T = typename TypeParam::in;
  std::mt19937 random(3);
  for (std::size_t const columns : {1U, 7U, 64U, 129U, 1000U, 8200U}) {
    std::vector<T> const x = hard_rows<T>(20, columns, random);
    std::vector<std::int64_t> labels(20);
    for (auto& each : labels) each = random() % 4 == 0 ? -100 : std::int64_t(random() % columns);
    auto const run = [&](auto&& from, auto&& to) {
      std::vector<float> losses(20);
      lowp::cross_entropy(from, labels, columns, {.label_smoothing = 0.1f}, losses, to);
      return losses;
    };
    std::vector<T> want(x.size());
    auto const losses = run(x, want);
    std::vector<T> place = x;
    EXPECT_EQ(run(place, place), losses);
    auto const same = [&](std::vector<T> const& got) {
      for (std::size_t i = 0; i < want.size(); ++i)
        ASSERT_TRUE(has_bits(got[i], code_of(want[i]), columns, i));
    };
    same(place);
    auto const spaced = spread(x, columns, 5, std::numeric_limits<T>::quiet_NaN());
    auto out = spread(std::vector<T>(x.size()), columns, 3, T(-7.0f));
    EXPECT_EQ(run(lowp::strided_rows{spaced, columns + 5}, lowp::strided_rows{out, columns + 3}),
              losses);
    same(gathered(out, columns, 3, T(-7.0f)));
  }
}

TEST(backward_cross_entropy, of_what_has_no_number) {
  std::vector<float> x(4 * 300, 1.0f);
  x[7] = NAN;
  x[307] = HUGE_VALF;
  for (std::size_t i = 600; i < 900; ++i) x[i] = -HUGE_VALF;
  x[905] = NAN;  // its row is ignored
  struct range_without_size {
    std::int32_t elements[4];
    [[nodiscard]] std::int32_t const* begin() const { return elements; }
    [[nodiscard]] std::int32_t const* end() const { return elements + 4; }
  } const labels{{0, 1, 2, -100}};
  std::vector<float> losses(4);
  std::vector<float> dx(x.size());
  lowp::cross_entropy(x, labels, 300, {.label_smoothing = 0.5f}, losses, dx);
  EXPECT_EQ(float_bits(losses[0]), 0x7fc00000U);
  EXPECT_EQ(float_bits(losses[1]), 0x7fc00000U);
  EXPECT_EQ(losses[2], HUGE_VALF);
  EXPECT_EQ(losses[3], 0);
  for (std::size_t i = 0; i < 600; ++i) ASSERT_EQ(float_bits(dx[i]), 0x7fc00000U) << i;
  for (std::size_t i = 600; i < 900; ++i) ASSERT_TRUE(std::isfinite(dx[i])) << i;
  for (std::size_t i = 900; i < 1200; ++i) ASSERT_EQ(float_bits(dx[i]), 0U) << i;
  lowp::cross_entropy(x, labels, 300, {.label_smoothing = 1}, losses, dx);
  EXPECT_EQ(float_bits(losses[0]), 0x7fc00000U);
  EXPECT_EQ(losses[2], HUGE_VALF);
}

// Each row has the bits of a call of its own.
TEST(backward_cross_entropy, of_rows_with_their_own_scales) {
  std::vector<float> x(6 * 11);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  std::vector<std::int32_t> const labels{0, 5, 10, 3, -100, 7};
  std::vector<float> const scales{2, 0.3f, 0, -7e-4f, NAN, HUGE_VALF};
  std::vector<float> losses(6), dx(x.size()), loss(1), want(11);
  lowp::cross_entropy_options options{.label_smoothing = 0.1f,
                                      .reduction = lowp::loss_reduction::summed};
  options.scale_at = scales.data();
  lowp::cross_entropy(x, labels, 11, options, losses, dx);
  options.scale_at = nullptr;
  for (std::size_t row = 0; row < 6; ++row) {
    std::span const got = std::span(dx).subspan(row * 11, 11);
    if (row == 2 || row == 4) {  // an ignored row has zeros
      EXPECT_TRUE(std::ranges::all_of(got, [](float d) { return d == 0; })) << row;
    } else if (row == 5) {
      EXPECT_TRUE(std::ranges::none_of(got, [](float d) { return std::isfinite(d); }));
    } else {
      options.scale = scales[row];
      lowp::cross_entropy(std::span(x).subspan(row * 11, 11), std::span(labels).subspan(row, 1), 11,
                          options, loss, want);
      EXPECT_EQ(loss[0], losses[row]);
      EXPECT_TRUE(std::ranges::equal(got, want)) << row;
    }
  }
}

// Rows of 11 equal logits have the loss ln 11. Two of six are ignored.
TEST(backward_cross_entropy, reports_the_mean_of_the_rows_that_count) {
  std::vector<float> const x(6 * 11, -3.0f);
  std::vector<std::int32_t> labels{0, -100, 10, 3, -100, 7};
  std::vector<float> losses(6);
  std::vector<float> dx(x.size());
  double const loss = std::log(11.0);
  lowp::sum_report whole;
  lowp::cross_entropy(x, labels, 11, {}, losses, dx, whole);
  EXPECT_EQ(whole.count, 4U);
  EXPECT_NEAR(whole.mean(), loss, 2e-6);
  EXPECT_NEAR(lowp::mean(losses), loss * 4 / 6, 2e-6);
  EXPECT_NEAR(dx[0], (1 / 11.0 - 1) / 4, 1e-6);
  // The parts of a batch add up, whatever divides the derivatives.
  lowp::sum_report parts;
  std::span const all(labels);
  for (std::size_t const first : {0U, 2U}) {
    std::size_t const rows = first == 0 ? 2 : 4;
    lowp::cross_entropy(std::span(x).first(rows * 11), all.subspan(first, rows), 11,
                        {.reduction = lowp::loss_reduction::summed}, std::span(losses).first(rows),
                        std::span(dx).first(rows * 11), parts);
  }
  EXPECT_EQ(parts.count, 4U);
  EXPECT_EQ(parts.value(), whole.value());
  EXPECT_NEAR(dx[0], 1 / 11.0, 1e-6);
  // A refused call adds nothing.
  labels[5] = 11;
  EXPECT_THROW(lowp::cross_entropy(x, labels, 11, {}, losses, dx, parts), std::invalid_argument);
  EXPECT_EQ(parts.count, 4U);
  // PyTorch gives a batch without labels no mean, either.
  std::fill(labels.begin(), labels.end(), -100);
  lowp::sum_report none;
  lowp::cross_entropy(x, labels, 11, {}, losses, dx, none);
  EXPECT_EQ(none.count, 0U);
  EXPECT_EQ(none.value(), 0);
  EXPECT_TRUE(std::isnan(none.mean()));
  EXPECT_EQ(dx, std::vector<float>(x.size()));
}

template <class T>
struct norm_case {
  std::size_t rows, columns;
  std::vector<T> x, dy, weight, bias;
  std::vector<float> mean, reciprocal, dweight, dbias;

  // Groups of rows add up in float. Huge gradients leave its range there, but not in a row.
  norm_case(std::size_t row_count, std::size_t column_count, bool is_huge = false)
      : rows(row_count),
        columns(column_count),
        mean(rows),
        reciprocal(rows),
        dweight(columns, NAN),
        dbias(columns, NAN) {
    std::mt19937 random(static_cast<unsigned>(columns));
    x = hard_rows<T>(rows, columns, random);
    for (T& each : x)
      if (std::isinf(float(each))) each = T(0.0f);
    dy = gradients<T>(rows, columns, random);
    for (T& each : dy)
      if (!is_huge && std::fabs(float(each)) > 0x1p100f) each = T(float(each) * 0x1p-14f);
    for (std::size_t i = 0; i < columns; ++i)
      weight.push_back(T(static_cast<float>(random() % 65) / 128 - 0.25f));
    bias = weight;
  }
};

// With the mean and the reciprocal of the forward pass.
template <class T, class Out>
void check_norm(norm_case<T> const& c, std::vector<Out> const& dx, bool has_mean, bool is_huge) {
  auto const n = static_cast<real>(c.columns);
  std::vector<real> by_weight(c.columns);
  std::vector<real> by_weight_size(c.columns);
  std::vector<real> by_bias(c.columns);
  std::vector<real> by_bias_size(c.columns);
  std::vector<real> y(c.columns);
  std::vector<real> g(c.columns);
  for (std::size_t row = 0; row < c.rows; ++row) {
    std::size_t const first = row * c.columns;
    real const r = c.reciprocal[row];
    real sum = 0;
    real size = 0;
    real products = 0;
    real products_size = 0;
    real largest = 0;
    for (std::size_t i = 0; i < c.columns; ++i) {
      auto const d = real{float(c.dy[first + i])};
      y[i] = (float(c.x[first + i]) - (has_mean ? real{c.mean[row]} : 0)) * r;
      g[i] = d * float(c.weight[i]);
      sum += g[i];
      size += std::fabs(g[i]);
      products += g[i] * y[i];
      products_size += std::fabs(g[i] * y[i]);
      largest = std::fmax(largest, std::fabs(g[i]));
      by_weight[i] += d * y[i];
      by_weight_size[i] += std::fabs(d * y[i]);
      by_bias[i] += d;
      by_bias_size[i] += std::fabs(d);
    }
    if (!has_mean) sum = size = 0;
    bool const may_scale = std::fmax(std::fabs(products), std::fabs(sum)) > 0x1p124L;
    for (std::size_t i = 0; i < c.columns; ++i) {
      real const parts = std::fabs(g[i]) + size / n + std::fabs(y[i]) * products_size / n;
      real const bound = u * (n / 256 + 18) * r * parts +
                         0x1p-149L * (1 + r * (2 + std::fabs(y[i])) * (1 + largest)) +
                         (may_scale ? 0x1p-85L * (1 + r) : 0);
      ASSERT_TRUE(is_near(dx[first + i], r * (g[i] - sum / n - y[i] * products / n), bound))
          << i << " of row " << row << " of " << c.columns;
    }
  }
  if (is_huge) return;
  auto const doubles = static_cast<real>(c.rows) * 0x1p-52L;
  for (std::size_t i = 0; i < c.columns; ++i) {
    real const want = by_weight[i];
    ASSERT_TRUE(is_near(c.dweight[i], want,
                        (18 * u + doubles) * by_weight_size[i] + u * std::fabs(want) +
                            (static_cast<real>(c.rows) + by_bias_size[i]) * 0x1p-149L))
        << i << " of " << c.columns;
    if (has_mean) {
      ASSERT_TRUE(
          is_near(c.dbias[i], by_bias[i],
                  (18 * u + doubles) * by_bias_size[i] + u * std::fabs(by_bias[i]) + 0x1p-149L))
          << i << " of " << c.columns;
    }
  }
}

// Both norms of the rows of a case, whose statistics are then those of the last one.
template <class Out, class In>
void expect_norms(norm_case<In>& c, float eps, bool is_huge = false) {
  std::vector<In> y(c.x.size());
  std::vector<Out> dx(c.x.size());
  lowp::rms_norm(c.x, c.weight, y, c.columns, eps, c.reciprocal);
  lowp::rms_norm_backward(c.x, c.weight, c.dy, c.reciprocal, dx, c.dweight, c.columns);
  if (std::isfinite(c.reciprocal[0])) check_norm(c, dx, false, is_huge);
  lowp::layer_norm(c.x, c.weight, c.bias, y, c.columns, eps, c.mean, c.reciprocal);
  lowp::layer_norm_backward(c.x, c.weight, c.dy, c.mean, c.reciprocal, dx, c.dweight, c.dbias,
                            c.columns);
  if (std::isfinite(c.reciprocal[0])) check_norm(c, dx, true, is_huge);
}

TYPED_TEST(backward, norms) {
  using In = typename TypeParam::in;
  using Out = typename TypeParam::out;
  for (std::size_t const columns : {1U, 2U, 7U, 16U, 33U, 100U, 128U, 129U, 300U, 1000U, 8200U})
    for (std::size_t const rows : {1U, 8U, 16U, 53U}) {
      if (rows * columns > 60000) continue;
      bool const is_huge = rows == 8;
      norm_case<In> c(rows, columns, is_huge);
      expect_norms<Out>(c, 1e-6f, is_huge);
      if (this->HasFatalFailure()) return;
    }
}

// Derivatives of equal elements with eps 0 are NaN: the formula has infinity times 0.
template <class In, class Out>
void expect_norms_of_nearly_equal_elements() {
  auto const check = [](nearly_equal_row<In> const& row, float eps) {
    if (testing::Test::HasFatalFailure()) return;
    SCOPED_TRACE(testing::Message()
                 << row.x.size() << " columns about " << row.base << ", eps " << eps);
    norm_case<In> c(1, row.x.size());
    c.x = row.x;
    expect_norms<Out>(c, eps);
    ASSERT_TRUE(eps != 0 || row.deviation() != 0 ||
                (std::isinf(c.reciprocal[0]) && float_bits(c.dweight[0]) == 0x7fc00000U));
  };
  over_nearly_equal_rows<In>(check, 16);
}
TYPED_TEST(backward, norms_of_nearly_equal_elements) {
  expect_norms_of_nearly_equal_elements<typename TypeParam::in, typename TypeParam::out>();
}
#ifndef LOWP_TEST_SOME
TEST(backward_norms, of_nearly_equal_bfloat16) {
  expect_norms_of_nearly_equal_elements<lowp::bfloat16, float>();
}
#endif

// The distance from the mean may be twice the largest float.
TYPED_TEST(backward, norms_of_elements_as_far_apart_as_it_gets) {
  using In = typename TypeParam::in;
  using Out = typename TypeParam::out;
  In const most = std::numeric_limits<In>::max();
  for (std::size_t const columns : {2U, 3U, 16U, 129U, 1000U, 8200U}) {
    norm_case<In> c(1, columns);
    std::fill(c.x.begin(), c.x.end(), most);
    c.x[columns / 2] = -most;
    expect_norms<Out>(c, 1e-6f);
    if (this->HasFatalFailure()) return;
  }
}

// NaN reaches its row and the sums of its column, always the canonical one.
TEST(backward_norms, of_any_nan_are_canonical) {
  constexpr std::size_t rows = 18;
  float const with_payload = float_of(0xffc12345);
  for (std::size_t const columns : {1U, 5U, 40U, 129U, 300U}) {
    std::vector<float> const x(rows * columns, 1.0f);
    std::vector<float> const weight(columns, 1.0f);
    std::vector<float> const mean(rows, 0.5f);
    std::vector<float> dy = x;
    std::size_t const at = columns / 2;
    dy[17 * columns + at] = with_payload;
    std::vector<float> dx(x.size());
    std::vector<float> dweight(columns);
    std::vector<float> dbias(columns);
    auto const expect_nan_at = [&](std::vector<float> const& sums) {
      for (std::size_t i = 0; i < columns; ++i)
        if (i == at) {
          ASSERT_TRUE(has_bits(sums[i], 0x7fc00000U, columns));
        } else {
          ASSERT_TRUE(std::isfinite(sums[i])) << i << " of " << columns;
        }
    };
    auto const expect_nan_in_last_row = [&] {
      for (std::size_t i = 0; i < dx.size(); ++i)
        if (i / columns == 17) {
          ASSERT_TRUE(has_bits(dx[i], 0x7fc00000U, columns));
        } else {
          ASSERT_TRUE(std::isfinite(dx[i])) << i << " of " << columns;
        }
    };
    lowp::layer_norm_backward(x, weight, dy, mean, mean, dx, dweight, dbias, columns);
    expect_nan_at(dweight);
    expect_nan_at(dbias);
    expect_nan_in_last_row();
    lowp::rms_norm_backward(x, weight, dy, mean, dx, dweight, columns);
    expect_nan_at(dweight);
    expect_nan_in_last_row();
  }
}

TYPED_TEST(backward, norms_lie_anywhere) {
  using T = typename TypeParam::in;
  for (std::size_t const columns : {1U, 7U, 129U, 1000U, 8200U}) {
    norm_case<T> c(20, columns);
    std::vector<T> y(c.x.size());
    std::vector<T> want(c.x.size());
    lowp::layer_norm(c.x, c.weight, c.bias, y, columns, 1e-6f, c.mean, c.reciprocal);
    auto const run = [&](auto&& x, auto&& dy, auto&& dx) {
      lowp::layer_norm_backward(x, c.weight, dy, c.mean, c.reciprocal, dx, c.dweight, c.dbias,
                                columns);
      std::vector<float> sums = c.dweight;
      sums.insert(sums.end(), c.dbias.begin(), c.dbias.end());
      return sums;
    };
    auto const same = [&](std::vector<T> const& got) {
      for (std::size_t i = 0; i < want.size(); ++i)
        ASSERT_TRUE(has_bits(got[i], code_of(want[i]), columns, i));
    };
    auto const sums = run(c.x, c.dy, want);
    auto place = c.x;
    EXPECT_EQ(run(place, c.dy, place), sums);
    same(place);
    place = c.dy;
    EXPECT_EQ(run(c.x, place, place), sums);
    same(place);
    T const poison = std::numeric_limits<T>::quiet_NaN();
    auto const x = spread(c.x, columns, 1, poison);
    auto const dy = spread(c.dy, columns, 4, poison);
    auto dx = spread(y, columns, 3, T(-7.0f));
    EXPECT_EQ(run(lowp::strided_rows{x, columns + 1}, lowp::strided_rows{dy, columns + 4},
                  lowp::strided_rows{dx, columns + 3}),
              sums);
    same(gathered(dx, columns, 3, T(-7.0f)));
  }
}

// Two gradients of a residual stream: one rounding of their sum in float.
TYPED_TEST(backward, norms_add_to_a_gradient) {
  using In = typename TypeParam::in;
  using Out = typename TypeParam::out;
  for (std::size_t const columns : {1U, 7U, 129U, 1000U, 8200U}) {
    norm_case<In> c(20, columns);
    std::vector<In> y(c.x.size());
    lowp::layer_norm(c.x, c.weight, c.bias, y, columns, 1e-6f, c.mean, c.reciprocal);
    std::vector<float> alone(c.x.size());
    lowp::layer_norm_backward(c.x, c.weight, c.dy, c.mean, c.reciprocal, alone, c.dweight, c.dbias,
                              columns);
    std::vector<float> const sums = c.dweight;
    std::mt19937 random(static_cast<unsigned>(columns));
    std::normal_distribution<float> normal;
    std::vector<Out> dx;
    for (std::size_t i = 0; i < alone.size(); ++i) dx.push_back(Out(normal(random)));
    std::vector<Out> want;
    for (std::size_t i = 0; i < alone.size(); ++i) want.push_back(Out(float(dx[i]) + alone[i]));
    auto spaced = spread(dx, columns, 3, Out(-7.0f));
    auto const expect_sums = [&](std::vector<Out> const& got) {
      for (std::size_t i = 0; i < want.size(); ++i)
        ASSERT_TRUE(has_bits(got[i], code_of(want[i]), columns, i));
      EXPECT_EQ(c.dweight, sums);
    };
    lowp::layer_norm_backward(c.x, c.weight, c.dy, c.mean, c.reciprocal, lowp::added_to{dx},
                              c.dweight, c.dbias, columns);
    expect_sums(dx);
    lowp::strided_rows const to{spaced, columns + 3};
    lowp::layer_norm_backward(c.x, c.weight, c.dy, c.mean, c.reciprocal, lowp::added_to{to},
                              c.dweight, c.dbias, columns);
    expect_sums(gathered(spaced, columns, 3, Out(-7.0f)));
  }
}

// A large element makes the reciprocal small, so that products with it are subnormal.
TEST(backward_norms, of_an_element_that_dwarfs_the_others) {
  for (float const dy : {0x1p10f, 0x1p126f}) {
    bool const is_huge = dy > 0x1p100f;
    norm_case<float> c(1, 2, is_huge);
    c.x = {0x1p119f, is_huge ? 0x1p37f : 0x1.5p-20f};
    c.dy = {dy, is_huge ? 0x1p-109f : 0x1p20f};
    c.weight = {1, 1};
    std::vector<float> dx(2);
    lowp::rms_norm(c.x, c.weight, dx, 2, 0, c.reciprocal);
    lowp::rms_norm_backward(c.x, c.weight, c.dy, c.reciprocal, dx, c.dweight, 2);
    check_norm(c, dx, false, is_huge);
  }
}

TEST(backward_norms, of_no_rows_sum_to_zero) {
  std::vector<float> none;
  std::vector<float> const weight(40, 1.0f);
  std::vector<float> dweight(40, 7.0f);
  std::vector<float> dbias(40, 7.0f);
  lowp::layer_norm_backward(none, weight, none, none, none, none, dweight, dbias, 40);
  EXPECT_EQ(dweight, std::vector<float>(40));
  EXPECT_EQ(dbias, std::vector<float>(40));
}

TEST_F(differences, of_norms) {
  std::vector<float> const weight{2, -1, 3, 0.5f, -2, 4, 1};
  std::vector<float> const bias(n, 0.25f);
  std::vector<float> mean(1);
  std::vector<float> reciprocal(1);
  std::vector<float> dweight(n);
  std::vector<float> dbias(n);
  constexpr double eps = 0.125;
  auto const normal = [&](std::vector<double> const& at, bool has_mean, auto const& w) {
    double m = 0;
    double squares = 0;
    for (double const each : at) m += has_mean ? each / static_cast<double>(n) : 0;
    for (double const each : at) squares += (each - m) * (each - m) / static_cast<double>(n);
    std::vector<double> out;
    for (std::size_t i = 0; i < n; ++i)
      out.push_back((at[i] - m) / std::sqrt(squares + eps) * w[i] + bias[i]);
    return out;
  };
  std::vector<double> const exact_weight(weight.begin(), weight.end());
  for (bool const has_mean : {false, true}) {
    if (has_mean) {
      lowp::layer_norm(x, weight, bias, y, n, eps, mean, reciprocal);
      lowp::layer_norm_backward(x, weight, dy, mean, reciprocal, dx, dweight, dbias, n);
      EXPECT_EQ(dbias, dy);
    } else {
      lowp::rms_norm(x, weight, y, n, eps, reciprocal);
      lowp::rms_norm_backward(x, weight, dy, reciprocal, dx, dweight, n);
    }
    expect_derivative(exact, dy, dx, [&](auto const& at) { return normal(at, has_mean, weight); });
    expect_derivative(exact_weight, dy, dweight,
                      [&](auto const& at) { return normal(exact, has_mean, at); });
  }
}

TEST(backward_refuses, norms_that_do_not_fit) {
  std::vector<float> x(12, 1.0f);
  std::vector<float> w(4, 1.0f);
  std::vector<float> r(3, 1.0f);
  std::vector<float> dx(12, 7.0f);
  std::vector<float> dw(4, 7.0f);
  std::vector<float> db(4, 7.0f);
  expect_refusal([&] { lowp::rms_norm_backward(x, w, x, w, dx, dw, 4); },
                 "lowp::rms_norm_backward: reciprocal_rms has 4 elements for 3 rows");
  expect_refusal([&] { lowp::rms_norm_backward(x, w, x, r, dx, r, 4); },
                 "lowp::rms_norm_backward: dweight has 3 elements for 4 columns");
  expect_refusal([&] { lowp::rms_norm_backward(x, r, x, r, dx, dw, 4); },
                 "lowp::rms_norm_backward: weight has 3 elements for 4 columns");
  expect_refusal([&] { lowp::rms_norm_backward(x, w, x, r, dx, w, 4); },
                 "lowp::rms_norm_backward: weight (16 bytes) and dweight (16 bytes) overlap: "
                 "weight starts 0 bytes into dweight");
  expect_refusal([&] { lowp::layer_norm_backward(x, w, x, r, r, dx, dw, dw, 4); },
                 "lowp::layer_norm_backward: dweight (16 bytes) and dbias (16 bytes) overlap: "
                 "dweight starts 0 bytes into dbias");
  expect_refusal(
      [&] { lowp::layer_norm_backward(x, w, x, r, r, dx, dw, std::span(dx).first(4), 4); },
      "lowp::layer_norm_backward: dx (48 bytes) and dbias (16 bytes) overlap: dx starts 0 bytes "
      "into dbias");
  for (float const each : dx) EXPECT_EQ(each, 7);
  for (float const each : dw) EXPECT_EQ(each, 7);
}

TEST(backward_refuses, what_does_not_fit) {
  std::vector<float> x(12, 1.0f);
  std::vector<lowp::bfloat16> y(12, lowp::bfloat16(1));
  std::vector<float> rows(3, 5.0f);
  expect_refusal([&] { lowp::softmax_backward(x, y, x, 5); },
                 "lowp::softmax_backward: y has 12 elements, which are not rows of 5");
  expect_refusal([&] { lowp::log_softmax_backward(x, std::span(y).first(8), x, 4); },
                 "lowp::log_softmax_backward: sizes differ: y has 12, dy has 8");
  expect_refusal([&] { lowp::softmax_backward(y, y, std::span(x).first(4), 4); },
                 "lowp::softmax_backward: sizes differ: y has 12, dx has 4");
  std::span const all(x);
  expect_refusal(
      [&] { lowp::softmax_backward(all.first(8), std::span(y).first(8), all.last(8), 4); },
      "lowp::softmax_backward: y (32 bytes) and dx (32 bytes) overlap: dx starts 16 bytes into y");
  expect_refusal(
      [&] { lowp::softmax_backward(std::span(y).first(8), all.first(8), all.last(8), 4); },
      "lowp::softmax_backward: dy (32 bytes) and dx (32 bytes) overlap: dx starts 16 bytes into "
      "dy");
  expect_refusal([&] { lowp::scale_mask_softmax_backward(y, y, x, 4, 0.0f); },
                 "lowp::scale_mask_softmax_backward: scale is 0, not finite and other than 0");
  expect_refusal([&] { lowp::gelu_tanh_backward(x, rows, y); },
                 "lowp::gelu_tanh_backward: sizes differ: x has 12, dy has 3, dx has 12");
  expect_refusal([&] { lowp::silu_backward(x, rows, y); },
                 "lowp::silu_backward: sizes differ: x has 12, dy has 3, dx has 12");
  expect_refusal([&] { lowp::gated_gelu_tanh_backward(y, y, y, x, x); },
                 "lowp::gated_gelu_tanh_backward: dgate (48 bytes) and dup (48 bytes) overlap: "
                 "dgate starts 0 bytes into dup");
  std::vector<std::int64_t> labels{0, 4, -100};
  auto const entropy = [&](lowp::cross_entropy_options const& options) {
    lowp::cross_entropy(x, labels, 4, options, rows, y);
  };
  expect_refusal([&] { entropy({}); },
                 "lowp::cross_entropy: the label of row 1 is 4, not from 0 to 3 or ignore_index, "
                 "-100");
  labels[1] = -1;
  expect_refusal([&] { entropy({.ignore_index = 3}); },
                 "lowp::cross_entropy: the label of row 1 is -1, not from 0 to 3 or ignore_index, "
                 "3");
  labels[1] = 3;
  expect_refusal([&] { entropy({.label_smoothing = 1.5f}); },
                 "lowp::cross_entropy: label_smoothing is 1.5, not from 0 to 1");
  expect_refusal([&] { entropy({.label_smoothing = NAN}); },
                 "lowp::cross_entropy: label_smoothing is nan, not from 0 to 1");
  expect_refusal([&] { entropy({.scale = HUGE_VALF}); },
                 "lowp::cross_entropy: scale is inf, not finite and other than 0");
  expect_refusal([&] { entropy({.scale = 0}); },
                 "lowp::cross_entropy: scale is 0, not finite and other than 0");
  expect_refusal([&] { entropy({.scale_at = rows.data()}); },
                 "lowp::cross_entropy: scale_at (12 bytes) and losses (12 bytes) overlap: scale_at "
                 "starts 0 bytes into losses");
  labels.pop_back();
  expect_refusal([&] { entropy({}); }, "lowp::cross_entropy: labels has 2 elements for 3 rows");
  labels.push_back(0);
  expect_refusal([&] { lowp::cross_entropy(x, labels, 4, {}, std::span(x).first(3), y); },
                 "lowp::cross_entropy: logits (48 bytes) and losses (12 bytes) overlap: logits "
                 "starts 0 bytes into losses");
  for (float const each : x) EXPECT_EQ(each, 1);
  for (float const each : rows) EXPECT_EQ(each, 5);
  for (lowp::bfloat16 const each : y) EXPECT_EQ(float(each), 1);
}

}  // namespace
