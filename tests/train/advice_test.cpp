// SPDX-License-Identifier: Apache-2.0
// The advice comes true: with fused_add and update, for every storage.
#include <gtest/gtest.h>
#include <lowp/cast.hpp>
#include <lowp/fused_add.hpp>
#include <lowp/measure.hpp>
#include <lowp/update.hpp>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "oracle/support.hpp"
#include "support/support.hpp"

namespace {

using namespace lowp_test;
using lowp::bfloat16, lowp::float16, lowp::float8_e4m3fn, lowp::kept_as, lowp::toward;

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float smallest = std::numeric_limits<float>::denorm_min();
float below(float x) { return float_of(float_bits(x) - 1); }

// Elements kept in one way, made from floats as a program would make them.
template <kept_as Way>
struct kept {
  explicit kept(std::vector<float> const& p, float scale = 1)
      : scale_of_codes(Way <= kept_as::fp8_stochastic ? scale : 1), high(p.size()), low(p.size()) {
    if constexpr (Way == kept_as::fp32)
      high = p;
    else if constexpr (Way == kept_as::split24)
      lowp::split(p, high, low);
    else
      lowp::scaled_cast(p, high, scale_of_codes);
    if constexpr (Way == kept_as::kahan)
      for (std::size_t i = 0; i < p.size(); ++i) low[i] = bfloat16(p[i] - float(high[i]));
  }

  auto storage() {
    if constexpr (Way == kept_as::fp8 || Way == kept_as::fp8_stochastic)
      return lowp::scaled{high, scale_of_codes};
    else if constexpr (Way == kept_as::split24)
      return lowp::split_master{high, low};
    else if constexpr (Way == kept_as::kahan)
      return lowp::kahan{high, low};
    else
      return std::span(high);
  }
  // The values of the elements.
  std::vector<std::uint32_t> values() const {
    std::vector<float> value(high.size());
    if constexpr (Way == kept_as::split24)
      lowp::join(high, low, value);
    else
      for (std::size_t i = 0; i < value.size(); ++i)
        value[i] =
            float(high[i]) / scale_of_codes + (Way == kept_as::kahan ? float(low[i]) : -0.0f);
    std::vector<std::uint32_t> bits(value.size());
    std::transform(value.begin(), value.end(), bits.begin(), float_bits);
    return bits;
  }

  using high_type =
      std::conditional_t<Way == kept_as::fp32, float,
                         std::conditional_t<Way == kept_as::fp16, float16,
                                            std::conditional_t<(Way <= kept_as::fp8_stochastic),
                                                               float8_e4m3fn, bfloat16>>>;
  using low_type = std::conditional_t<Way == kept_as::split24, std::uint8_t, bfloat16>;
  float scale_of_codes;
  std::vector<high_type> high;
  std::vector<low_type> low;
};

template <class Kept>
std::vector<bool> changes(Kept const& before, Kept const& after) {
  auto const a = before.values();
  auto const b = after.values();
  std::vector<bool> changed(a.size());
  for (std::size_t i = 0; i < changed.size(); ++i) changed[i] = a[i] != b[i];
  return changed;
}

std::vector<float> negated(std::vector<float> u) {
  for (float& x : u) x = -x;
  return u;
}

// Does what was foretold: a step of each u just below its threshold, then of the threshold itself.
template <kept_as Way>
void expect_foretold(std::vector<float> const& p, float scale = 1) {
  SCOPED_TRACE(facts_of(Way).name);
  kept<Way> const before(p, scale);
  for (toward const direction : {toward::plus_infinity, toward::minus_infinity}) {
    std::vector<float> least(p.size());
    lowp::least_updates<Way>(p, direction, least, scale);
    for (bool const moves : {false, true}) {
      std::vector<float> u = least;
      for (float& x : u)
        if ((!moves && x != smallest) || x == inf) x = below(x);
      if (direction == toward::minus_infinity) u = negated(u);
      kept<Way> added(p, scale);
      lowp::update_report report;
      lowp::fused_add(added.storage(), 1.0f, u, lowp::nearest_even{}, report);
      std::vector<bool> const by_add = changes(before, added);
      std::vector<bool> by_update = by_add;
      if constexpr (Way == kept_as::bf16) {
        kept<Way> stepped(p, scale);
        lowp::update(stepped.storage(), negated(u), lowp::sgd{.lr = 1}, 1);
        by_update = changes(before, stepped);
      }
      for (std::size_t i = 0; i < p.size(); ++i) {
        bool const expected = least[i] == smallest || (moves && least[i] != inf);
        ASSERT_EQ(by_add[i], expected) << shown(p[i]) << " + " << shown(u[i]);
        ASSERT_EQ(by_update[i], expected) << shown(p[i]) << " + " << shown(u[i]);
      }
    }
  }
}

// Values of every finite bfloat16 code.
std::vector<float> all_bfloat16() {
  std::vector<float> p;
  for (std::uint32_t code = 0; code < 0x10000; ++code)
    if ((code & 0x7f80) != 0x7f80) p.push_back(float_of(code << 16));
  return p;
}
std::vector<float> random_floats(std::size_t count) {
  std::vector<float> p;
  oracle_test::float_patterns patterns(5);
  while (p.size() < count) {
    float const x = float_of(patterns.next());
    if (std::isfinite(x) && std::fabs(x) < 0x1p126f) p.push_back(x);
  }
  return p;
}

TEST(least_updates, are_what_fused_add_and_update_need) {
  std::vector<float> const codes = all_bfloat16();
  expect_foretold<kept_as::bf16>(codes);
  expect_foretold<kept_as::fp16>(codes);
  expect_foretold<kept_as::fp8>(codes, 0.25f);
  expect_foretold<kept_as::fp32>(codes);
  std::vector<float> const floats = random_floats(20000);
  expect_foretold<kept_as::bf16>(floats);
  expect_foretold<kept_as::fp8>(floats, 1024.0f);
  expect_foretold<kept_as::split24>(floats);
  expect_foretold<kept_as::kahan>(floats);
  expect_foretold<kept_as::fp32>(floats);
}

// Half the gap in that direction, seen through a sum in float. A tie goes to the even code.
TEST(least_updates, of_bfloat16_are_half_a_gap) {
  std::vector<float> const p = all_bfloat16();
  for (toward const direction : {toward::plus_infinity, toward::minus_infinity}) {
    double const sign = direction == toward::plus_infinity ? 1 : -1;
    std::vector<float> least(p.size());
    lowp::least_updates<kept_as::bf16>(p, direction, least);
    for (std::size_t i = 0; i < p.size(); ++i) {
      std::uint32_t const code = float_bits(p[i]) >> 16;
      if ((code & 0x7fff) == 0) continue;  // zero changes its sign first
      bool const outward = std::signbit(p[i]) == (sign < 0);
      std::uint32_t const next = outward ? code + 1 : code - 1;
      double const neighbour = (next & 0x7fff) == 0x7f80 ? sign * 0x1p128 : float_of(next << 16);
      double const tie = (p[i] + neighbour) / 2;
      auto const moves = [&](float u) {
        double const w = static_cast<float>(p[i] + sign * u);
        return code % 2 == 0 ? sign * w > sign * tie : sign * w >= sign * tie;
      };
      ASSERT_TRUE(moves(least[i]) && !moves(below(least[i]))) << shown(p[i]) << shown(least[i]);
      ASSERT_NEAR(least[i] / (std::fabs(neighbour - p[i]) / 2), 1, 0.004) << shown(p[i]);
    }
  }
}

// A blog post's loop says that 0.0129 loses updates under 0.0009999 in bfloat16.
TEST(least_updates, of_0_0129) {
  std::vector<float> const p{bfloat16(0.0129f)};
  std::vector<float> least(1);
  for (toward const direction : {toward::plus_infinity, toward::minus_infinity}) {
    lowp::least_updates<kept_as::bf16>(p, direction, least);
    EXPECT_NEAR(least[0], 0x1p-15, 0x1p-30);
  }
  std::vector<bfloat16> w{bfloat16(0.0129f)};
  lowp::update_report report;
  lowp::fused_add(w, 1.0f, std::vector<float>{-0.0009998f}, lowp::nearest_even{}, report);
  EXPECT_NE(w[0], bfloat16(0.0129f));
}

TEST(least_updates, below_a_power_of_two_are_half_of_those_above) {
  std::vector<float> const one{1.0f, -1.0f};
  std::vector<float> up(2);
  std::vector<float> down(2);
  lowp::least_updates<kept_as::bf16>(one, toward::plus_infinity, up);
  lowp::least_updates<kept_as::bf16>(one, toward::minus_infinity, down);
  EXPECT_NEAR(up[0], 0x1p-8, 0x1p-20);
  EXPECT_NEAR(down[0], 0x1p-9, 0x1p-20);
  EXPECT_EQ(up[0], down[1]);
  EXPECT_EQ(down[0], up[1]);
}

TEST(least_updates, are_infinite_where_nothing_helps) {
  std::vector<float> const p{448.0f, 1e6f, -448.0f};
  std::vector<float> least(3);
  lowp::least_updates<kept_as::fp8>(p, toward::plus_infinity, least);
  EXPECT_EQ(least[0], inf);
  EXPECT_EQ(least[1], inf);
  EXPECT_LT(least[2], 32.0f);
}

// Elements that a step of u, up and down, leaves unchanged, as the report counts them.
template <kept_as Way>
double stalled_share(std::vector<float> const& p, float u, float scale) {
  lowp::update_report report;
  for (float const step : {u, -u}) {
    kept<Way> elements(p, scale);
    lowp::fused_add(elements.storage(), 1.0f, std::vector<float>(p.size(), step),
                    lowp::nearest_even{}, report);
  }
  return static_cast<double>(report.stalled) / static_cast<double>(report.count);
}

std::vector<float> weights(std::size_t count) {
  std::vector<float> w(count);
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 0.0129f / 0.6745f);
  for (float& x : w) x = normal(random);
  return w;
}
float scale_for(std::vector<float> const& p) {
  float largest = 0;
  for (float const x : p) largest = std::max(largest, std::fabs(x));
  return std::exp2(std::floor(std::log2(448 / largest)));
}

TEST(stall_advice, counts_what_stalls) {
  std::vector<float> const p = weights(9001);  // more than two pieces
  float const scale = scale_for(p);
  for (double const lr : {1e-9, 5e-7, 1.6e-5, 1e-4, 3e-3}) {
    SCOPED_TRACE(lr);
    auto const advice = lowp::stall_advice(p, {.lr = lr * 8, .direction = 0.125});
    auto const u = static_cast<float>(lr);
    auto const expect = [&]<kept_as Way>(std::integral_constant<kept_as, Way>) {
      EXPECT_EQ(advice[Way].stalled, stalled_share<Way>(p, u, scale)) << facts_of(Way).name;
      EXPECT_EQ(advice[Way].lost, advice[Way].stalled) << facts_of(Way).name;
      EXPECT_EQ(advice[Way].rare, advice[Way].stalled) << facts_of(Way).name;
    };
    expect(std::integral_constant<kept_as, kept_as::fp8>{});
    expect(std::integral_constant<kept_as, kept_as::bf16>{});
    expect(std::integral_constant<kept_as, kept_as::fp16>{});
    expect(std::integral_constant<kept_as, kept_as::split24>{});
    expect(std::integral_constant<kept_as, kept_as::kahan>{});
    expect(std::integral_constant<kept_as, kept_as::fp32>{});
    EXPECT_EQ(advice.count, p.size());
    EXPECT_EQ(advice.nonfinite, 0U);
  }
}

TEST(stall_advice, rates_are_those_of_the_thresholds) {
  std::vector<float> const p = weights(3001);
  double const direction = 3;
  auto const advice = lowp::stall_advice(p, {.lr = 1e-5, .direction = direction});
  std::vector<float> up(p.size());
  std::vector<float> all(p.size());
  lowp::least_updates<kept_as::bf16>(p, toward::plus_infinity, up);
  lowp::least_updates<kept_as::bf16>(p, toward::minus_infinity, all);
  all.insert(all.end(), up.begin(), up.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(advice[kept_as::bf16].lr_any, all.front() / direction);
  EXPECT_EQ(advice[kept_as::bf16].lr_all, all.back() / direction);
  double const half = all[all.size() / 2 - 1] / direction;
  EXPECT_GE(advice[kept_as::bf16].lr_half, half);
  EXPECT_LE(advice[kept_as::bf16].lr_half, half * (1 + 0x1p-7));
  // At that rate half do move, and the advice knows.
  EXPECT_LE(lowp::stall_advice(
                p, {.lr = advice[kept_as::bf16].lr_half, .direction = direction})[kept_as::bf16]
                .lost,
            0.5);
}

// All 65536 random numbers, one by one.
template <class T>
double expected_stalls(float p, float u, float scale) {
  auto const code = lowp::convert<T>(p * scale);
  double stays = 0;
  for (float const step : {u, -u})
    for (std::uint32_t r = 0; r < 0x10000; ++r)
      stays += lowp::convert<T>((float(code) / scale + step) * scale,
                                lowp::stochastic_bits{static_cast<std::uint16_t>(r)})
                   .bits() == code.bits();
  return stays / 0x20000;
}

TEST(stall_advice, expects_the_mean_of_all_random_numbers) {
  for (float const p : {1.0f, -1.0f, 0.0129f, 0.0f, 3.0f, 0x1p-130f, -0x1.fep100f}) {
    for (float const relative : {0x1p-30f, 0x1p-24f, 1e-5f, 0.001f, 0.01f, 1.5f}) {
      float const u = p == 0 ? 1e-3f : std::fabs(p) * relative;
      if (u == 0) continue;
      auto const advice = lowp::stall_advice(std::vector<float>{p}, {.lr = u, .steps = 1});
      EXPECT_EQ(advice[kept_as::bf16_stochastic].stalled, expected_stalls<bfloat16>(p, u, 1.0f))
          << shown(p) << ' ' << shown(u);
      if (std::fabs(p) < 1e-30f || std::fabs(p) > 1e30f) continue;
      float const scale = p == 0 ? 1.0f : scale_for({p});
      EXPECT_EQ(advice[kept_as::fp8_stochastic].stalled,
                expected_stalls<float8_e4m3fn>(p, u, scale))
          << shown(p) << ' ' << shown(u);
    }
  }
}

TEST(stall_advice, loses_no_more_than_float_under_stochastic_rounding) {
  std::vector<float> const p = weights(1000);
  std::vector<float> kept(p.size());
  std::vector<bfloat16> narrow(p.size());
  lowp::cast(p, narrow);
  lowp::cast(narrow, kept);
  for (double const lr : {1e-12, 3e-10, 1e-9}) {
    auto const advice = lowp::stall_advice(kept, {.lr = lr});
    EXPECT_GT(advice[kept_as::bf16_stochastic].lost, 0);
    EXPECT_NEAR(advice[kept_as::bf16_stochastic].lost, advice[kept_as::fp32].lost, 0.02);
  }
}

TEST(stall_advice, chooses_the_smallest_that_does) {
  std::vector<float> const p = weights(4000);
  auto const choice = [&](double lr, std::uint64_t steps, double tolerance = 0.01,
                          int least_bytes = 1) {
    return lowp::stall_advice(
               p, {.lr = lr, .steps = steps, .tolerance = tolerance, .least_bytes = least_bytes})
        .choice;
  };
  EXPECT_EQ(choice(1.0, 1), kept_as::fp8);
  EXPECT_EQ(choice(1e-3, 1), kept_as::bf16);
  EXPECT_EQ(choice(1e-3, 1000), kept_as::fp8_stochastic);
  EXPECT_EQ(choice(1e-3, 1000, 0.01, 2), kept_as::bf16);
  EXPECT_EQ(choice(1.0, 1, 0.01, 2), kept_as::bf16);
  EXPECT_EQ(choice(1.6e-5, 100), kept_as::fp16);
  EXPECT_EQ(choice(5e-7, 100), kept_as::split24);
  EXPECT_EQ(choice(5e-7, 20000), kept_as::bf16_stochastic);
  EXPECT_EQ(choice(3e-7, 100), kept_as::kahan);
  EXPECT_EQ(choice(1e-7, 100), kept_as::fp32);
  EXPECT_EQ(choice(1e-9, 100), kept_as::fp32);
  EXPECT_EQ(choice(1e-30, 100), kept_as::fp32);
  EXPECT_EQ(choice(1.6e-5, 1, 0.7), kept_as::bf16);
}

TEST(stall_advice, leaves_out_what_is_not_finite) {
  std::vector<float> const p = weights(5000);
  std::vector<float> with = p;
  for (std::size_t const at : {0U, 4096U, 5000U})
    with.insert(with.begin() + static_cast<std::ptrdiff_t>(at), at == 0 ? std::nanf("") : -inf);
  auto const some = lowp::stall_advice(with, {.lr = 1e-5});
  auto const without = lowp::stall_advice(p, {.lr = 1e-5});
  EXPECT_EQ(some.count, 5003U);
  EXPECT_EQ(some.nonfinite, 3U);
  for (std::size_t i = 0; i < lowp::kept_ways.size(); ++i) {
    EXPECT_EQ(some.estimates[i].stalled, without.estimates[i].stalled);
    EXPECT_EQ(some.estimates[i].lr_half, without.estimates[i].lr_half);
  }
  auto const nothing = lowp::stall_advice(std::vector<float>{}, {.lr = 1});
  EXPECT_EQ(nothing.count, 0U);
  EXPECT_EQ(nothing[kept_as::bf16].stalled, 0);
}

TEST(stall_advice, of_narrow_weights) {
  std::vector<float> const p = weights(1000);
  std::vector<bfloat16> narrow(p.size());
  std::vector<float> back(p.size());
  lowp::cast(p, narrow);
  lowp::cast(narrow, back);
  auto const a = lowp::stall_advice(narrow, {.lr = 1e-5});
  auto const b = lowp::stall_advice(back, {.lr = 1e-5});
  for (std::size_t i = 0; i < lowp::kept_ways.size(); ++i)
    EXPECT_EQ(a.estimates[i].stalled, b.estimates[i].stalled);
}

TEST(stall_advice, refuses_what_is_no_update) {
  std::vector<float> const p(3, 1.0f);
  auto const refusal = [&](lowp::typical_update const& step) {
    try {
      lowp::stall_advice(p, step);
    } catch (std::invalid_argument const& error) {
      return std::string(error.what());
    }
    return std::string("not refused");
  };
  EXPECT_EQ(refusal({.lr = -1}), "lowp::stall_advice: lr is -1, not finite and above 0");
  for (double const value : {0.0, -0.0, -1e-300, double{inf}, std::nan("")}) {
    EXPECT_NE(refusal({.lr = value}), "not refused");
    EXPECT_NE(refusal({.lr = 1, .direction = value}).find("direction is"), std::string::npos);
    EXPECT_NE(refusal({.lr = 1, .tolerance = value}).find("tolerance is"), std::string::npos);
  }
}

// Every finite bfloat16 above zero, against the rounding of the product.
TEST(advice, tells_which_second_moments_cannot_decay) {
  std::vector<bfloat16> normal, subnormal;
  for (std::uint16_t code = 1; code < 0x7f80; ++code)
    (code < 0x80 ? subnormal : normal).push_back(bfloat16::from_bits(code));
  EXPECT_EQ(lowp::stalled_decay(normal, 0.999), 1);
  EXPECT_EQ(lowp::stalled_decay(subnormal, 0.999), 1);
  EXPECT_EQ(lowp::stalled_decay(normal, 0.99), 0);
  EXPECT_EQ(lowp::stalled_decay(subnormal, 0.99), 50.0 / 127);
  EXPECT_EQ(lowp::stalled_decay(std::vector<float>{1, 2, 3, 0, inf}, 0.999), 0);
  EXPECT_EQ(lowp::stalled_decay(std::vector<float>{}, 0.999), 0);
  EXPECT_THROW((void)lowp::stalled_decay(normal, 1), std::invalid_argument);
}

TEST(advice, is_the_same_in_any_rounding_mode) {
  std::vector<float> const p{1}, v{3};
  for (int const mode : {FE_TONEAREST, FE_UPWARD}) {
    std::fesetround(mode);
    double const stalled = lowp::stall_advice(p, {.lr = 0x1p-8 + 0x1p-40})[kept_as::bf16].stalled;
    double const decay = lowp::stalled_decay(v, 1 - 0x1p-24);
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(stalled, 0.5);  // upward: half a gap ties, and goes to even
    EXPECT_EQ(decay, 0);
  }
}

// Gradients of batches of 1 and of 16, drawn: the model's |g|, and the stalls that follow.
TEST(advice, of_a_larger_batch_is_that_of_its_gradients) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  for (double const noise : {0.0, 0.5, 1.0}) {
    double one = 0, sixteen = 0;
    constexpr int draws = 20000;
    for (int i = 0; i < draws; ++i) {
      double sum = 0, first = 0;
      for (int k = 0; k < 16; ++k) {
        double const g = std::sqrt(1 - noise) + std::sqrt(noise) * normal(random);
        if (k == 0) first = g;
        sum += g;
      }
      one += first * first;
      sixteen += sum * sum / 256;
    }
    auto const got = lowp::update_of_batch({.lr = 0.1, .direction = 2, .steps = 100},
                                           {.factor = 16, .noise = noise});
    EXPECT_NEAR(got.direction / 2, std::sqrt(sixteen / one), 0.02);
    EXPECT_EQ(got.lr, 0.1);
    EXPECT_EQ(got.steps, 6U);
  }
  EXPECT_EQ(lowp::update_of_batch({.lr = 1}, {.factor = 1e-20}).steps,
            std::numeric_limits<std::uint64_t>::max());
  std::vector<bfloat16> p(1000);
  for (bfloat16& each : p) each = bfloat16(normal(random));
  lowp::typical_update const now{.lr = 1e-3};
  auto const stalled = [&](lowp::batch_change const& change) {
    return lowp::stall_advice(p, lowp::update_of_batch(now, change))[kept_as::bf16].stalled;
  };
  double const alone = lowp::stall_advice(p, now)[kept_as::bf16].stalled;
  EXPECT_GT(stalled({.factor = 16}), alone);
  EXPECT_EQ(stalled({.factor = 16, .lr_exponent = 0.5}), alone);  // noise alone: |g| falls by 4
  EXPECT_LT(stalled({.factor = 16, .lr_exponent = 1}), alone);
  EXPECT_EQ(stalled({.factor = 16, .is_normalized = true}), alone);
  EXPECT_THROW((void)lowp::update_of_batch(now, {.factor = 0}), std::invalid_argument);
  EXPECT_THROW((void)lowp::update_of_batch(now, {.factor = 2, .noise = 1.5}),
               std::invalid_argument);
}

}  // namespace
