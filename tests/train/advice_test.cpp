// SPDX-License-Identifier: Apache-2.0
// The advice comes true: with fused_add and update, for every storage.
#include <gtest/gtest.h>
#include <lowp/advice.hpp>
#include <lowp/cast.hpp>
#include <lowp/fused_add.hpp>
#include <lowp/update.hpp>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "oracle/support.hpp"
#include "support/refusals.hpp"
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
    lowp::detail::least_updates<Way>(p, direction, least, scale);
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
    lowp::detail::least_updates<kept_as::bf16>(p, direction, least);
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
    lowp::detail::least_updates<kept_as::bf16>(p, direction, least);
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
  lowp::detail::least_updates<kept_as::bf16>(one, toward::plus_infinity, up);
  lowp::detail::least_updates<kept_as::bf16>(one, toward::minus_infinity, down);
  EXPECT_NEAR(up[0], 0x1p-8, 0x1p-20);
  EXPECT_NEAR(down[0], 0x1p-9, 0x1p-20);
  EXPECT_EQ(up[0], down[1]);
  EXPECT_EQ(down[0], up[1]);
}

TEST(least_updates, are_infinite_where_nothing_helps) {
  std::vector<float> const p{448.0f, 1e6f, -448.0f};
  std::vector<float> least(3);
  lowp::detail::least_updates<kept_as::fp8>(p, toward::plus_infinity, least);
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
    auto const advice = lowp::stall_advice(p, {.lr = lr * 8, .direction = 0.125, .spread = {1}});
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
  auto const advice = lowp::stall_advice(p, {.lr = 1e-5, .direction = direction, .spread = {1}});
  std::vector<float> up(p.size());
  std::vector<float> all(p.size());
  lowp::detail::least_updates<kept_as::bf16>(p, toward::plus_infinity, up);
  lowp::detail::least_updates<kept_as::bf16>(p, toward::minus_infinity, all);
  all.insert(all.end(), up.begin(), up.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(advice[kept_as::bf16].lr_any, all.front() / direction);
  EXPECT_EQ(advice[kept_as::bf16].lr_all, all.back() / direction);
  double const half = all[all.size() / 2 - 1] / direction;
  EXPECT_GE(advice[kept_as::bf16].lr_half, half);
  EXPECT_LE(advice[kept_as::bf16].lr_half, half * (1 + 0x1p-7));
  // No rate moves what has the largest code.
  std::vector<float> const large(100, 1e5f);
  auto const stuck = lowp::stall_advice(large, {.lr = 1e-4})[kept_as::fp16];
  EXPECT_EQ(stuck.lr_half, std::numeric_limits<double>::infinity());
  // At that rate half do move, and the advice knows.
  EXPECT_LE(lowp::stall_advice(p, {.lr = advice[kept_as::bf16].lr_half,
                                   .direction = direction,
                                   .spread = {1}})[kept_as::bf16]
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
      auto const advice = lowp::stall_advice(std::vector<float>{p},
                                             {.lr = u, .direction = 1, .steps = 1, .spread = {1}});
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
    auto const advice = lowp::stall_advice(kept, {.lr = lr, .direction = 1, .spread = {1}});
    EXPECT_GT(advice[kept_as::bf16_stochastic].lost, 0);
    EXPECT_NEAR(advice[kept_as::bf16_stochastic].lost, advice[kept_as::fp32].lost, 0.02);
  }
}

TEST(stall_advice, chooses_the_smallest_that_does) {
  std::vector<float> const p = weights(4000);
  auto const choice = [&](double lr, std::uint64_t steps, double tolerance = 0.01,
                          int least_bytes = 1) {
    return lowp::stall_advice(p, {.lr = lr,
                                  .direction = 1,
                                  .steps = steps,
                                  .tolerance = tolerance,
                                  .least_bytes = least_bytes,
                                  .spread = {1}})
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

// Gradients of one kind, always the same ones.
enum class kind : std::uint8_t { noise, noise_around_a_mean, rare, heavy_tailed };
class gradients {
 public:
  explicit gradients(kind of) : of_(of) {}

  void draw(std::vector<float>& g) {
    for (float& each : g) {
      float const x = normal_();
      switch (of_) {
        case kind::noise:
          each = x;
          break;
        case kind::noise_around_a_mean:
          each = 0.1f + x;
          break;
        case kind::rare:
          each = normal_() > 1.0f ? x : 0.0f;
          break;  // a sixth of them
        case kind::heavy_tailed:
          each = x * x * x;
          break;
      }
    }
  }

 private:
  float normal_() {  // no library's last bits
    float sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<float>(random_() >> 8) * 0x1p-24f;
    return sum;
  }
  kind of_;
  std::mt19937 random_{9};
};

struct training {
  std::vector<bfloat16> p;
  std::vector<float> g, m, v;

  explicit training(std::vector<float> const& start)
      : p(start.size()), g(start.size()), m(start.size()), v(start.size()) {
    lowp::cast(start, p);
  }
  // Takes the steps after `first` up to `last`. The gradient of the next is ready then.
  lowp::update_report steps(lowp::adamw const& optimizer, std::uint64_t first, std::uint64_t last,
                            gradients& random) {
    lowp::update_report report;
    for (std::uint64_t step = first + 1; step <= last; ++step) {
      lowp::update(p, g, m, v, optimizer, step, report);
      random.draw(g);
    }
    return report;
  }
};
double share_of(lowp::update_report const& report) {
  return static_cast<double>(report.stalled) / static_cast<double>(report.count);
}

constexpr double rates[] = {2e-3, 1e-3, 3e-4, 1e-4, 3e-5};

// AdamW in bfloat16 for 120 steps after 80: what stalls is what the advice said after these 80.
TEST(stall_advice, is_what_training_shows) {
  std::vector<float> start = weights(3000);
  for (float& x : start) x *= 4;
  for (kind const of : {kind::noise, kind::noise_around_a_mean, kind::rare, kind::heavy_tailed}) {
    for (double const lr : rates) {
      SCOPED_TRACE(testing::Message() << "gradients " << static_cast<int>(of) << ", lr " << lr);
      lowp::adamw const optimizer{.lr = lr, .weight_decay = 0.1};
      gradients random(of);
      training run(start);
      random.draw(run.g);
      run.steps(optimizer, 0, 79, random);
      lowp::update_report const report = run.steps(optimizer, 79, 80, random);
      auto const stalled = [&](lowp::typical_update const& update) {
        return lowp::stall_advice(run.p, update)[kept_as::bf16].stalled;
      };
      double const measured = stalled(lowp::update_of(run.p, run.g, run.m, run.v, optimizer, 81));
      double const reported = stalled(lowp::update_of(optimizer, report));
      double const by_default = stalled({.lr = lr});
      double const seen = share_of(run.steps(optimizer, 80, 200, random));
      EXPECT_NEAR(measured, seen, 0.02);
      EXPECT_NEAR(reported, seen, 0.05);
      if (of == kind::noise || of == kind::noise_around_a_mean) {
        EXPECT_NEAR(by_default, seen, 0.05);
      }
    }
  }
}

TEST(stall_advice, of_lion_is_what_training_shows) {
  std::vector<float> const start = weights(3000);
  for (double const lr : {1e-4, 3e-5, 1e-5}) {
    lowp::lion const optimizer{.lr = lr};
    training run(start);
    gradients random(kind::noise);
    lowp::update_report report;
    double const said =
        lowp::stall_advice(run.p, lowp::update_of(optimizer))[kept_as::bf16].stalled;
    for (std::uint64_t step = 1; step <= 20; ++step) {
      random.draw(run.g);
      lowp::update(run.p, run.g, run.m, optimizer, step, report);
    }
    EXPECT_NEAR(said, share_of(report), 0.05) << lr;
    lowp::typical_update const reported = lowp::update_of(optimizer, report);
    EXPECT_NEAR(reported.direction, 1, 1e-5);
    EXPECT_EQ(reported.spread, std::vector<float>{1});
    EXPECT_NEAR(lowp::update_of(run.p, run.g, run.m, optimizer, 21).direction, 1, 1e-5);
  }
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
    auto const size = static_cast<float>(value);
    EXPECT_NE(refusal({.lr = 1, .spread = {size}}).find("spread"), std::string::npos);
  }
  EXPECT_EQ(refusal({.lr = 1, .spread = {0, 1}}), "not refused");
  EXPECT_EQ(refusal({.lr = 1e39}),
            "lowp::stall_advice: lr is 1e+39, inf as a float, not finite and above 0");
  EXPECT_EQ(refusal({.lr = 1e-46}),
            "lowp::stall_advice: lr is 1e-46, 0 as a float, not finite and above 0");
  EXPECT_EQ(refusal({.lr = 1e-30, .direction = 1e-30}),
            "lowp::stall_advice: lr * direction is 1.0000000000000001e-60, 0 as a float, not "
            "finite and above 0");
  EXPECT_EQ(refusal({.lr = 1e30, .direction = 1e10}),
            "lowp::stall_advice: lr * direction is 1e+40, inf as a float, not finite and above 0");
  EXPECT_NE(refusal({.lr = 1e30, .direction = 1, .spread = {1, 1e20f}}).find("spread is"),
            std::string::npos);
  EXPECT_THROW(lowp::stalled_decay(p, 1 - 1e-9), std::invalid_argument);
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
  std::vector<float> const p{1}, v{3}, g(200, 0.25f), m = weights(200), w(200, 1e-3f);
  std::vector<lowp::storage_advice> advice;
  for (int const mode : {FE_TONEAREST, FE_UPWARD}) {
    std::fesetround(mode);
    auto const update = lowp::update_of(m, g, m, w, lowp::adamw{.lr = 1e-3}, 7);
    advice.push_back(lowp::stall_advice(m, update));
    advice.push_back(lowp::stall_advice(m, {.lr = 1e-3}));
    double const stalled =
        lowp::stall_advice(p,
                           {.lr = 0x1p-8 + 0x1p-40, .direction = 1, .spread = {1}})[kept_as::bf16]
            .stalled;
    double const decay = lowp::stalled_decay(v, 1 - 0x1p-24);
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(stalled, 0.5);  // upward: half a gap ties, and goes to even
    EXPECT_EQ(decay, 0);
  }
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t way = 0; way < lowp::kept_ways.size(); ++way) {
      EXPECT_EQ(advice[i].estimates[way].stalled, advice[i + 2].estimates[way].stalled);
      EXPECT_EQ(advice[i].estimates[way].lr_any, advice[i + 2].estimates[way].lr_any);
      EXPECT_EQ(advice[i].estimates[way].rare, advice[i + 2].estimates[way].rare);
    }
}

// |m| / sqrt(v) of AdamW over normal gradients, drawn.
TEST(update_of, adamw_is_that_of_noise) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  struct betas {
    double first, second;
  };
  for (auto const [beta1, beta2] :
       {betas{.9, .999}, betas{.9, .95}, betas{.95, .99}, betas{0, .99}}) {
    std::vector<double> seen(4000);
    for (double& u : seen) {
      double m = 0, v = 0;
      for (int i = 0; i < 200; ++i) {
        double const g = normal(random);
        m = beta1 * m + (1 - beta1) * g;
        v = beta2 * v + (1 - beta2) * g * g;
      }
      u = std::fabs(m / (1 - std::pow(beta1, 200)) / std::sqrt(v / (1 - std::pow(beta2, 200))));
    }
    double const mean = std::accumulate(seen.begin(), seen.end(), 0.0) / 4000;
    lowp::typical_update const got =
        lowp::update_of(lowp::adamw{.lr = 0.25, .beta1 = beta1, .beta2 = beta2});
    EXPECT_EQ(got.lr, 0.25);
    EXPECT_NEAR(got.direction, mean, 0.04 * mean) << beta1 << ' ' << beta2;
  }
  EXPECT_NEAR(lowp::typical_update{.lr = 1}.direction, lowp::update_of(lowp::adamw{}).direction,
              1e-6);
}

// Weights that all have one threshold show the spread itself.
TEST(stall_advice, requests_are_spread_as_a_normal_number) {
  std::vector<bfloat16> const p(7, bfloat16(1.5f));
  for (double const gaps : {0.1, 0.5, 1.0, 2.0}) {  // half a gap, over the deviation of updates
    double const direction = std::sqrt(2 / std::acos(-1.0));
    auto const advice =
        lowp::stall_advice(p, {.lr = 0x1p-8 / gaps, .direction = direction})[kept_as::bf16];
    EXPECT_NEAR(advice.stalled, std::erf(gaps / std::sqrt(2.0)), 0.005) << gaps;
    EXPECT_NEAR(advice.rare, 1 - std::exp(-gaps * gaps / 2), 0.01) << gaps;
    EXPECT_NEAR(advice.lr_half, 0x1p-8 / 0.6745, 0x1p-8 * 0.02) << gaps;
  }
  auto const some =
      lowp::stall_advice(p, {.lr = 0x1p-7, .direction = 0.5, .spread = {0, 0.5f, 1.5f, 4}});
  EXPECT_NEAR(some[kept_as::bf16].stalled, 0.25, 0.01);  // who asks for nothing does not stall
  EXPECT_NEAR(some[kept_as::bf16].rare, 0.5 / 6, 0.01);
  EXPECT_NEAR(some[kept_as::bf16].lr_any, 0x1p-8 / 2, 0x1p-20);
  EXPECT_NEAR(some[kept_as::bf16].lr_all, 0x1p-8 / 0.25, 0x1p-20);
}

// The mean and the quantiles of |u| / lr, beside long double.
TEST(update_of, a_step_has_the_sizes_that_it_asks_for) {
  std::mt19937 random(8);
  std::normal_distribution<float> normal;
  std::vector<float> p(2001), g(p.size()), m(p.size()), v(p.size());
  for (std::size_t i = 0; i < p.size(); ++i) {
    p[i] = normal(random);
    g[i] = i % 5 == 0 ? 0 : normal(random);
    m[i] = i % 5 == 0 ? 0 : 0.1f * normal(random);
    v[i] = 1 + std::fabs(normal(random));
  }
  g[3] = inf;  // not finite, and left out
  for (double const decay : {0.0, 0.1}) {
    lowp::adamw const o{.lr = 1e-3, .weight_decay = decay};
    std::vector<double> sizes;
    for (std::size_t i = 0; i < p.size(); ++i) {
      if (i == 3) continue;
      long double const mi = 0.9L * m[i] + 0.1L * g[i], vi = 0.999L * v[i] + 0.001L * g[i] * g[i];
      long double const c1 = 1 - std::pow(0.9L, 50), c2 = 1 - std::pow(0.999L, 50);
      sizes.push_back(static_cast<double>(std::fabs(mi / c1 / (std::sqrt(vi / c2) + 1e-8L) +
                                                    static_cast<long double>(decay) * p[i])));
    }
    std::sort(sizes.begin(), sizes.end());
    double const mean = std::accumulate(sizes.begin(), sizes.end(), 0.0) / 2000;
    std::vector<float> const before = p;
    lowp::typical_update const got = lowp::update_of(p, g, m, v, o, 50);
    EXPECT_EQ(p, before);
    EXPECT_EQ(got.lr, 1e-3);
    EXPECT_NEAR(got.direction, mean, 1e-4 * mean);
    ASSERT_EQ(got.spread.size(), 256U);
    for (std::size_t k = 0; k < 256; ++k) {
      double const want = sizes[(2 * k + 1) * 2000 / 512];
      EXPECT_NEAR(got.direction * double{got.spread[k]}, want, want / 100) << k;
    }
    // Zeros request nothing.
    std::vector<float> const zeros(p.size());
    EXPECT_EQ(lowp::update_of(zeros, zeros, zeros, v, o, 50).direction, 0);
  }
  // SGD asks for its gradient, or for its momentum.
  std::vector<float> const d{1, -3};
  std::vector<float> buffer{0.5f, 1};
  EXPECT_EQ(lowp::update_of(d, d, lowp::sgd{.lr = 0.25}, 1).direction, 2);
  // A buffer that a step does not touch.
  EXPECT_EQ(lowp::update_of(d, d, buffer, lowp::sgd{.lr = 0.25, .dampening = 0.5}, 2).direction, 2);
  EXPECT_EQ(lowp::update_of(d, d, buffer, lowp::sgd{.lr = 0.25, .momentum = 0.5}, 2).direction,
            (1.25 + 2.5) / 2);
}

template <class O>
concept has_a_size_of_its_own = requires(O const& o) { lowp::update_of(o); };
static_assert(has_a_size_of_its_own<lowp::adamw> && has_a_size_of_its_own<lowp::lion>);
static_assert(!has_a_size_of_its_own<lowp::sgd>);

TEST(update_of, a_report_needs_requests) {
  EXPECT_EQ(refusal_of([] { (void)lowp::update_of(lowp::sgd{.lr = 1}, lowp::update_report{}); }),
            "lowp::update_of: requested is 0, not finite and above 0");
  EXPECT_EQ(refusal_of([] { (void)lowp::update_of(lowp::adamw{.lr = 0}, lowp::update_report{}); }),
            "lowp::update_of: lr is 0, not finite and above 0");
  EXPECT_NE(refusal_of([] { (void)lowp::update_of(lowp::adamw{.beta1 = 1}); }), "not refused");
  EXPECT_NE(refusal_of([] { (void)lowp::update_of(lowp::adamw{.lr = 0}); }), "not refused");
  EXPECT_NE(refusal_of([] { (void)lowp::update_of(lowp::lion{.lr = 0}); }), "not refused");
  std::vector<float> const p(3), g(4);
  EXPECT_NE(
      refusal_of([&] { (void)lowp::update_of(p, g, lowp::sgd{.lr = 1}, 1); }).find("update_of: "),
      std::string::npos);
  // An update that was not finite is in no mean.
  lowp::update_report report;
  std::vector<float> q{1, 1}, h{2, inf};
  lowp::update(q, h, lowp::sgd{.lr = 0.5}, 1, report);
  EXPECT_EQ(lowp::update_of(lowp::sgd{.lr = 0.5}, report).direction, 2);
}

// v = 0.001 g^2 = 1e-11 is 0 in float16 and in 8 bits, and the weight runs away.
template <class V>
std::string refusal_of_second(float gradient) {
  std::vector<float> const p(3, 1.0f), g{gradient, gradient, 0}, m(3);
  std::vector<V> const v(3, V(0));
  return refusal_of([&] { (void)lowp::update_of(p, g, m, v, lowp::adamw{}, 1); });
}
TEST(update_of, refuses_second_moments_that_underflow) {
  EXPECT_EQ(refusal_of_second<float16>(1e-4f),
            "lowp::update_of: v is float16, in which 2 of its 3 elements become 0, and steps m / "
            "eps; keep v in bfloat16, float, blocks or scaled");
  EXPECT_NE(refusal_of_second<float8_e4m3fn>(0.1f).find("v is float8_e4m3,"), std::string::npos);
  EXPECT_NE(refusal_of_second<lowp::float8_e5m2>(0.01f).find("v is float8_e5m2,"),
            std::string::npos);
  EXPECT_EQ(refusal_of_second<float16>(1.0f), "not refused");
  EXPECT_EQ(refusal_of_second<bfloat16>(1e-4f), "not refused");
  std::vector<float> const p(3, 1.0f), g(3, 1e-4f), m(3);
  std::vector<float16> v(3);
  EXPECT_NEAR(lowp::update_of(p, g, m, lowp::scaled{v, 0x1p30f}, lowp::adamw{}, 1).direction, 1,
              0.02);
}

using adamw_list = std::vector<lowp::adamw_tensor<bfloat16, float, float, float>>;

TEST(stall_advice, of_a_list_names_those_that_decide) {
  training matrix(weights(3000)), norm(std::vector<float>(64, 1.0f)), empty(std::vector<float>{});
  training broken(std::vector<float>(9, inf));
  gradients random(kind::noise);
  for (training* each : {&matrix, &norm}) {
    random.draw(each->g);
    each->steps({.lr = 1e-3}, 0, 30, random);
  }
  adamw_list list;
  for (training* each : {&matrix, &norm, &empty, &broken})
    list.push_back({each->p, each->g, each->m, each->v, each == &norm ? "norm" : ""});
  lowp::typical_update const update{.lr = 1e-3, .steps = 200};
  auto const advice = lowp::stall_advice(list, update);
  ASSERT_EQ(advice.tensors.size(), 4U);
  EXPECT_EQ(advice.tensors[0].choice, kept_as::bf16_stochastic);
  EXPECT_EQ(advice.tensors[1].choice, kept_as::split24);
  EXPECT_EQ(advice.tensors[2].count, 0U);
  EXPECT_EQ(advice.tensors[3].nonfinite, 9U);
  EXPECT_EQ(advice.choice, kept_as::split24);
  EXPECT_EQ(advice.text(), "split 16+8; without 'norm': bf16 stochastic");
  adamw_list const norms{list[1], {norm.p, norm.g, norm.m, norm.v}};
  EXPECT_EQ(lowp::stall_advice(norms, update).text(), "split 16+8; without 'norm', 1: bf16");
  // Nothing rules out the smallest of those allowed.
  EXPECT_EQ(lowp::stall_advice(list, {.lr = 1e-3, .steps = 200, .least_bytes = 3}).text(),
            "split 16+8");
  // fp8 is no list's.
  lowp::typical_update const fast{.lr = 1, .steps = 100000, .least_bytes = 1};
  EXPECT_EQ(lowp::stall_advice(matrix.p, fast).choice, kept_as::fp8);
  EXPECT_EQ(lowp::stall_advice(list, fast).choice, kept_as::bf16);
  EXPECT_EQ(lowp::stall_advice(adamw_list{}, update).text(), "bf16");
  lowp::list_advice many{kept_as::split24, kept_as::bf16, {"'a'", "1", "'c'", "'d'"}};
  EXPECT_EQ(many.text(), "split 16+8; without 'a', 1, 'c', 'd': bf16");
  many.decided_by.push_back("4");
  EXPECT_EQ(many.text(), "split 16+8; without 'a', 1, 'c' and 2 more: bf16");

  // The sizes of each tensor's own step; a tensor that asks for nothing decides nothing.
  auto updates = lowp::update_of(list, lowp::adamw{.lr = 1e-3}, 31);
  ASSERT_EQ(updates.size(), 4U);
  EXPECT_NEAR(updates[0].direction, 0.2, 0.05);
  EXPECT_EQ(updates[2].direction, 0);
  for (auto& each : updates) each.steps = 200;
  auto const measured = lowp::stall_advice(list, updates);
  EXPECT_EQ(measured.text(), advice.text());
  EXPECT_EQ(measured.tensors[0][kept_as::bf16].stalled,
            lowp::stall_advice(matrix.p, updates[0])[kept_as::bf16].stalled);
  updates[1].direction = 0;
  EXPECT_EQ(lowp::stall_advice(list, updates).choice, kept_as::bf16_stochastic);
  updates.pop_back();
  EXPECT_EQ(refusal_of([&] { (void)lowp::stall_advice(list, updates); }),
            "lowp::stall_advice: 3 updates for a list of 4 tensors");

  std::vector const names{lowp::named{"m", std::span(matrix.p)},
                          lowp::named{"n", std::span(norm.p)}};
  EXPECT_EQ(lowp::stall_advice(names, update).text(), "split 16+8; without 'n': bf16 stochastic");
}

// The values of a storage are what counts.
TEST(stall_advice, of_storages) {
  std::vector<float> const p = weights(500);
  lowp::typical_update const update{.lr = 1e-5};
  auto const want = lowp::stall_advice(p, update)[kept_as::split24].stalled;
  kept<kept_as::kahan> kahan(p);
  std::vector<bfloat16> copy(p.size());
  std::vector<float> weights = p;
  EXPECT_EQ(lowp::stall_advice(lowp::master{weights, copy}, update)[kept_as::split24].stalled,
            want);
  EXPECT_NEAR(lowp::stall_advice(kahan.storage(), update)[kept_as::split24].stalled, want, 0.01);
}

}  // namespace
