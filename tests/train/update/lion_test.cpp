// SPDX-License-Identifier: Apache-2.0
// Lion, and averages of weights, bit for bit against the exact sequences.
#include <gtest/gtest.h>
#include <lowp/measure.hpp>
#include <lowp/openmp.hpp>
#include <lowp/update.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support.hpp"

namespace {

using namespace lowp_test;

constexpr double max = std::numeric_limits<float>::max();
constexpr double tiny = std::numeric_limits<double>::denorm_min();
constexpr std::array settings{
    lowp::lion{},
    lowp::lion{.lr = 0.05, .weight_decay = 0.1},
    lowp::lion{.lr = 0.3, .beta1 = 0, .beta2 = 0, .weight_decay = 3},
    lowp::lion{.lr = 0, .beta1 = 0.25, .beta2 = 0.5, .weight_decay = 3},
    lowp::lion{.lr = 1e38, .weight_decay = 1e-38},
    lowp::lion{.lr = max, .weight_decay = 1},
    lowp::lion{.lr = 1, .weight_decay = max},
    lowp::lion{.lr = tiny, .beta1 = tiny, .beta2 = tiny, .weight_decay = tiny},
    lowp::lion{.beta1 = 1 - 0x1p-24, .beta2 = 1 - 0x1p-24, .weight_decay = -0.0},
    lowp::lion{.lr = 1e-40, .beta1 = 0.5, .beta2 = 1e-45, .weight_decay = 1e-3}};

template <class P, class G, class M>
void check(std::uint64_t seed, std::size_t size) {
  auto const& l = settings[seed % settings.size()];
  auto const step = steps[seed / 3 % steps.size()];
  auto const& policy = maybe_policies[seed / 2 % 3];
  values const kind = seed % 2 == 0 ? values::corners : values::training;
  std::mt19937_64 random(seed);
  slot_modes const modes = random_modes(random);
  tensor p = random_tensor<P>(size, 3 * seed, kind);
  tensor const g = random_tensor<G>(size, 3 * seed + 1, kind);
  tensor m = random_tensor<M>(size, 3 * seed + 2, kind, 0.1);
  guarded<P> mine_p(p, seed % 5);
  guarded<G> mine_g(g, seed % 7);
  guarded<M> mine_m(m, seed % 4);
  lowp::update_report report;
  auto const take = [&](auto const&... outcome) {
    lowp::update(mine_p.span(), mine_g.span(), mine_m.span(), l, step, modes.library(), outcome...,
                 report);
  };
  if (policy)
    take(policy->overflow);
  else
    take();
  expect_report(report, oracle_update(p, g, m, l, step, modes, policy));
  EXPECT_TRUE(mine_p.holds(p, "p"));
  EXPECT_TRUE(mine_m.holds(m, "m"));
}

TEST(lion, has_the_bits_and_the_report_of_the_exact_sequence) {
  for (std::uint64_t i = 0; i < 900 && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    check<lowp::bfloat16, float, lowp::bfloat16>(i, lengths[i / 5 % lengths.size()]);
    check<lowp::float16, lowp::bfloat16, lowp::float8_e4m3fn>(i, lengths[i % lengths.size()]);
  }
}

TEST(lion, every_length_to_300) {
  for (std::size_t size = 0; size <= 300 && !HasFailure(); ++size)
    check<lowp::bfloat16, float, lowp::bfloat16>(size, size);
}

// Momentum and gradient cancel: p only decays. A NaN stays one.
TEST(lion, moves_by_the_sign) {
  lowp::lion const l{.lr = 0.25, .beta1 = 0.5, .beta2 = 0.75, .weight_decay = 0.5};
  float const inf = std::numeric_limits<float>::infinity();
  std::vector<float> const g{-2, -1, 2, -inf, inf - inf};
  std::vector<float> p(5, 0.5f), m(5, 1.0f);
  lowp::update(p, g, m, l, 1);
  EXPECT_EQ(std::vector(p.begin(), p.begin() + 4),
            (std::vector{0.6875f, 0.4375f, 0.1875f, 0.6875f}));
  EXPECT_EQ(std::vector(m.begin(), m.begin() + 4), (std::vector{0.25f, 0.5f, 1.25f, -inf}));
  EXPECT_TRUE(has_bits(p[4], oracle::canonical_nan_bits));
  EXPECT_TRUE(has_bits(m[4], oracle::canonical_nan_bits));
}

// Kahan parameters, a moment in blocks, teams and lists.
TEST(lion, has_the_same_bits_in_every_storage_and_list) {
  constexpr std::size_t size = 5000;
  lowp::lion const l{.lr = 1e-3, .weight_decay = 0.1};
  lowp::stochastic const mode{.seed = 5, .stream = lowp::stream_of(3, 0)};
  struct arrays {
    std::vector<lowp::bfloat16> value = std::vector(size, lowp::bfloat16(1)),
                                rest = std::vector<lowp::bfloat16>(size), g = rest;
    std::vector<lowp::float8_e4m3fn> codes = std::vector(size, lowp::float8_e4m3fn(0));
    std::vector<lowp::float8_e8m0fnu> scales = std::vector(size / 128 + 1, lowp::float8_e8m0fnu(1));
    auto p() { return lowp::kahan{value, rest}; }
    auto m() { return lowp::blocks_of<128>(codes, scales); }
  };
  arrays one, team, list;
  std::mt19937_64 random(4);
  std::normal_distribution<float> normal;
  for (std::uint64_t step = 1; step < 4; ++step) {
    for (std::size_t i = 0; i < size; ++i)
      one.g[i] = team.g[i] = list.g[i] = lowp::bfloat16(normal(random));
    lowp::update(one.p(), one.g, one.m(), l, step, mode);
    lowp::openmp::update(team.p(), team.g, team.m(), l, step, mode);
    lowp::update(std::vector{lowp::momentum_tensor{list.p(), list.g, list.m()}}, l, step, mode);
  }
  for (arrays const* other : {&team, &list}) {
    EXPECT_EQ(one.value, other->value);
    EXPECT_EQ(one.rest, other->rest);
    EXPECT_EQ(one.codes, other->codes);
    EXPECT_EQ(one.scales, other->scales);
  }
}

constexpr std::array decays{0.999, 0.9999, 0.0, 1 - 0x1p-24, 0.5, -0.0, tiny};

template <class P, class G>
void check_average(std::uint64_t seed, std::size_t size) {
  lowp::ema const e{.decay = decays[seed % decays.size()]};
  auto const step = steps[seed / 3 % steps.size()];
  auto const& policy = maybe_policies[seed / 2 % 3];
  values const kind = seed % 2 == 0 ? values::corners : values::training;
  std::mt19937_64 random(seed);
  slot_modes const modes = random_modes(random);
  tensor average = random_tensor<P>(size, 3 * seed, kind);
  tensor const weights = random_tensor<G>(size, 3 * seed + 1, kind);
  guarded<P> mine(average, seed % 5);
  guarded<G> mine_weights(weights, seed % 7);
  lowp::update_report report;
  auto const take = [&](auto const&... outcome) {
    lowp::update(mine.span(), mine_weights.span(), e, step, modes.library(), outcome..., report);
  };
  if (policy)
    take(policy->overflow);
  else
    take();
  expect_report(report, oracle_update(average, weights, e, step, modes, policy));
  EXPECT_TRUE(mine.holds(average, "average"));
}

TEST(ema, has_the_bits_and_the_report_of_the_exact_sequence) {
  for (std::uint64_t i = 0; i < 900 && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    check_average<lowp::bfloat16, float>(i, lengths[i / 5 % lengths.size()]);
    check_average<lowp::float16, lowp::bfloat16>(i, lengths[i % lengths.size()]);
  }
}

// 200 steps of .999 toward 1.5: the exact average is 1.5 - .5 * .999^200. To nearest, no bfloat16
// moves, and the report says so. Stochastic rounding, and more bits, follow.
TEST(ema, moves_in_bfloat16_where_its_rounding_allows) {
  constexpr std::size_t size = 4096;
  lowp::ema const e{.decay = 0.999};
  std::vector<float> const weights(size, 1.5f);
  std::vector nearest(size, lowp::bfloat16(1)), drawn = nearest, kahan = nearest, listed = nearest,
                                                team = nearest;
  std::vector<lowp::bfloat16> rest(size);
  lowp::stochastic const mode{.seed = 5, .stream = lowp::stream_of(3, 0)};
  lowp::update_report of_nearest, of_drawn;
  for (std::uint64_t step = 1; step <= 200; ++step) {
    lowp::update(nearest, weights, e, step, lowp::nearest_even{}, of_nearest);
    lowp::update(drawn, weights, e, step, mode, of_drawn);
    lowp::update(lowp::kahan{kahan, rest}, weights, e, step);
    lowp::update(std::vector{lowp::sgd_tensor{listed, weights}}, e, step, mode);
    lowp::openmp::update(team, weights, e, step, mode);
  }
  double const want = 1.5 - 0.5 * std::pow(0.999, 200);
  EXPECT_EQ(of_nearest.stalled, 200 * size);
  EXPECT_EQ(of_nearest.applied_ratio(), 0);
  EXPECT_EQ(nearest, std::vector(size, lowp::bfloat16(1)));
  EXPECT_NEAR(of_drawn.applied_ratio(), 1, 0.05);
  EXPECT_NEAR(lowp::mean(drawn), want, 0.005);
  for (std::size_t i = 0; i < size; ++i)
    EXPECT_NEAR(float(kahan[i]) + float(rest[i]), want, 1e-3) << i;
  EXPECT_EQ(listed, drawn);
  EXPECT_EQ(team, drawn);
}

}  // namespace
