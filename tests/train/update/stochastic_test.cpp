// SPDX-License-Identifier: Apache-2.0
// The random bits of an update: each slot has its draw, stream and index, and a tensor in shards
// gets the bits of the whole.
#include <gtest/gtest.h>
#include <lowp/fused_add.hpp>
#include <lowp/update.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "support.hpp"

namespace {

using namespace lowp_test;
using lowp::bfloat16;
using lowp::float8_e4m3fn;

// The probability of moving up is 1/2 in every slot: p = 1 and u = half a gap, m and v likewise.
struct coins {
  std::vector<bool> param, first, second;
  bool operator==(coins const&) const = default;
};
constexpr std::size_t size = 200;

// sgd: p = 1 - lr * x, momentum = g. Both land in the middle of a gap: p = 1 + 2^-8, and the buffer
// = -(1 + 2^-8). There up means away from zero.
coins toss_sgd(lowp::stochastic const& rounding, std::uint64_t step) {
  std::vector<bfloat16> p(size, bfloat16(0));
  std::vector<bfloat16> momentum(size, bfloat16(0));
  std::vector<float> const g(size, -(1 + 0x1p-8f));
  lowp::update(p, g, momentum, lowp::sgd{.lr = 1, .momentum = 0.5}, step, rounding);
  coins out;
  for (std::size_t i = 0; i < size; ++i) {
    out.param.push_back(p[i].bits() == 0x3f81);
    out.first.push_back(momentum[i].bits() == 0xbf81);
    EXPECT_TRUE(p[i].bits() >> 1 == 0x3f80 >> 1 && momentum[i].bits() >> 1 == 0xbf80 >> 1);
  }
  return out;
}

// The coins by the rule of A7.
coins expected_coins(std::uint64_t seed, std::uint64_t stream, std::uint64_t offset) {
  coins out;
  for (std::size_t i = 0; i < size; ++i) {
    out.param.push_back(oracle::random16(seed, stream, offset + i, 0) >= 0x8000);
    out.first.push_back(oracle::random16(seed, stream, offset + i, 1) >= 0x8000);
  }
  return out;
}

TEST(update_random, parameter_takes_draw_0_and_momentum_draw_1) {
  coins const got = toss_sgd({.seed = 5, .stream = oracle::stream_of(7, 1), .offset = 3}, 1);
  EXPECT_EQ(got, expected_coins(5, oracle::stream_of(7, 1), 3));
  EXPECT_NE(got.param, got.first);
}

TEST(update_random, step_goes_into_the_low_half_of_the_stream) {
  std::uint64_t const tensor = std::uint64_t{0xabcdef01} << 32;
  coins const first = toss_sgd({.seed = 5, .stream = tensor}, 1);
  EXPECT_EQ(first, toss_sgd({.seed = 5, .stream = tensor | 0x12345678}, 1));
  std::uint64_t const later = (std::uint64_t{1} << 32) + 1;
  EXPECT_EQ(first.param, expected_coins(5, tensor | 1, 0).param);
  EXPECT_EQ(toss_sgd({.seed = 5, .stream = tensor}, later).param, first.param);
  // fused_add knows of no step and takes the stream as it is.
  std::vector<bfloat16> p(size, bfloat16(1));
  lowp::fused_add(p, 0x1p-8f, std::vector<float>(size, 1.0f),
                  lowp::stochastic{.seed = 5, .stream = tensor | 0x12345678});
  coins const whole_stream = expected_coins(5, tensor | 0x12345678, 0);
  for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(p[i].bits() == 0x3f81, whole_stream.param[i]);
}

// v = beta2 * v + (1 - beta2) * g * g is g * g for beta2 = 0: a coin of the third slot.
TEST(update_random, second_moment_takes_draw_2_with_its_own_seed_stream_and_offset) {
  lowp::stochastic const plain{.seed = 11, .stream = oracle::stream_of(3, 99), .offset = 1000};
  lowp::stochastic const other{.seed = ~std::uint64_t{0}, .stream = ~std::uint64_t{0}, .offset = 5};
  for (bool const per_slot : {false, true}) {
    std::vector<float> p(size, 1.0f);
    std::vector<float> m(size, 0.0f);
    std::vector<bfloat16> v(size, bfloat16(0));
    std::vector<float> const g(size, 1 + 0x1p-9f + 0x1p-18f);  // its square: 1 + 2^-8 and a little
    lowp::adamw const a{.beta2 = 0};
    if (per_slot)
      lowp::update(p, g, m, v, a, 4, lowp::per_slot{.param = plain, .first = {}, .second = other});
    else
      lowp::update(p, g, m, v, a, 4, plain);
    lowp::stochastic const& used = per_slot ? other : plain;
    std::uint64_t const stream =
        oracle::stream_of(static_cast<std::uint32_t>(used.stream >> 32), 4);
    for (std::size_t i = 0; i < size; ++i) {
      std::uint32_t const r = oracle::random16(used.seed, stream, used.offset + i, 2);
      float const exact = g[i] * g[i];
      auto const code = oracle::encode(oracle::bfloat16, oracle::from(exact),
                                       oracle::mode::stochastic, oracle::policy::infinity, r);
      ASSERT_TRUE(has_bits(v[i], code, i));
    }
  }
}

lowp::per_slot shifted(lowp::stochastic param, lowp::stochastic first, lowp::stochastic second,
                       std::uint64_t by) {
  param.offset += by;
  first.offset += by;
  second.offset += by;
  return {.param = param, .first = first, .second = second};
}

// Any split of the tensor, each shard with its own offset, gives the bits and the counts of the
// whole.
TEST(update_random, shards_give_the_bits_of_the_whole) {
  lowp::stochastic const one{.seed = 1, .stream = oracle::stream_of(1, 0), .offset = 0};
  lowp::stochastic const two{.seed = 2, .stream = oracle::stream_of(2, 0), .offset = 77};
  lowp::stochastic const three{.seed = 3, .stream = oracle::stream_of(3, 0), .offset = 0 - 100UL};
  std::mt19937_64 random(71);
  for (std::size_t n : {1U, 8U, 33U, 100U, 517U}) {
    tensor const p = random_tensor<bfloat16>(n, n, values::training);
    tensor const g = random_tensor<float>(n, n + 1, values::training);
    tensor const m = random_tensor<float8_e4m3fn>(n, n + 2, values::training);
    tensor v = random_tensor<lowp::float8_e5m2>(n, n + 3, values::training);
    for (std::uint32_t& code : v.codes) code &= 0x7f;
    guarded<float> shared_g(g, 0);

    tensor whole_p = p;
    tensor whole_m = m;
    tensor whole_v = v;
    auto const mode = [](lowp::stochastic const& s) {
      return slot_mode{oracle::mode::stochastic, s.seed, s.stream, s.offset};
    };
    lowp::adamw const a{.lr = 0.01};
    auto const want = oracle_update(whole_p, g, whole_m, whole_v, a, 6,
                                    {mode(one), mode(two), mode(three)}, std::nullopt);
    for (int round = 0; round < 60; ++round) {
      guarded<bfloat16> mine_p(p, 0);
      guarded<float8_e4m3fn> mine_m(m, 1);
      guarded<lowp::float8_e5m2> mine_v(v, 2);
      lowp::update_report report;
      for (std::size_t first = 0, count = 0; first < n; first += count) {
        count = std::min<std::size_t>(n - first, random() % (round % 2 == 0 ? 9 : 70));
        auto const cut = [&](auto span) { return span.subspan(first, count); };
        lowp::update(cut(mine_p.span()), cut(shared_g.span()), cut(mine_m.span()),
                     cut(mine_v.span()), a, 6, shifted(one, two, three, first), report);
      }
      ASSERT_TRUE(mine_p.holds(whole_p, "p"));
      ASSERT_TRUE(mine_m.holds(whole_m, "m"));
      ASSERT_TRUE(mine_v.holds(whole_v, "v"));
      ASSERT_EQ(report.count, n);
      ASSERT_EQ(report.stalled, want.stalled);
      ASSERT_NEAR(report.applied_ratio(), want.applied_ratio(), 1e-6);
    }
  }
}

// Pairs of ordinary values beyond the largest finite number: a carry must not make infinity of it.
TEST(update_random, pairs_saturate) {
  constexpr bfloat16 largest = std::numeric_limits<bfloat16>::max();
  for (lowp::overflow const policy : {lowp::overflow::infinity, lowp::overflow::saturate}) {
    std::vector<bfloat16> p(1024, largest);
    std::vector<bfloat16> const g(p.size(), bfloat16(-6e35f));
    lowp::update(p, g, lowp::sgd{.lr = 1}, 1, lowp::stochastic{.seed = 1}, policy);
    auto const infinite = std::ranges::count_if(p, [](bfloat16 x) { return isinf(x); });
    if (policy == lowp::overflow::saturate)
      EXPECT_EQ(p, std::vector(p.size(), largest));
    else
      EXPECT_NEAR(double(infinite) / double(p.size()), 6e35 / 0x1p120, 0.06);
  }
}

// Long spans whose slots are all bfloat16 go through registers in pairs; shards of up to seven
// elements do not. Every eighth element has any pattern: a NaN, an infinity, a subnormal.
TEST(update_random, pairs_give_the_bits_of_single_elements) {
  constexpr std::size_t n = 1023;
  for (lowp::overflow const policy : {lowp::overflow::infinity, lowp::overflow::saturate})
    for (std::uint64_t const offset : {0U, 3U}) {
      std::vector<bfloat16> slot[4];
      for (std::uint32_t which = 0; which < 4; ++which)
        for (std::uint32_t i = 0; i < n; ++i) {
          std::uint32_t const word = lowp::philox4x32({i, which, 0, 0}, {7, 0})[0];
          bool const is_any = (word >> 16) % 8 == 0;
          slot[which].push_back(bfloat16::from_bits(
              static_cast<std::uint16_t>(is_any ? word : (word & 0x83ff) | 0x3c00)));
        }
      std::vector<bfloat16> single[4] = {slot[0], slot[1], slot[2], slot[3]};
      lowp::stochastic mode{.seed = 5, .stream = 6, .offset = offset};
      lowp::update(slot[0], slot[1], slot[2], slot[3], lowp::adamw(), 3, mode, policy);
      for (std::size_t first = 0, count = 1; first < n; first += count, count = count % 7 + 1) {
        if (count > n - first) count = n - first;
        auto const cut = [&](int which) { return std::span(single[which]).subspan(first, count); };
        mode.offset = offset + first;
        lowp::update(cut(0), cut(1), cut(2), cut(3), lowp::adamw(), 3, mode, policy);
      }
      for (int which = 0; which < 4; ++which)
        for (std::size_t i = 0; i < n; ++i)
          ASSERT_EQ(slot[which][i].bits(), single[which][i].bits()) << which << ' ' << i;
    }
}

// A7b for a value, and for spans that need more keys than a kernel makes at once.
TEST(stochastic_fast, takes_the_bits_of_keys) {
  constexpr std::size_t many = 9000;
  lowp::stochastic_fast const mode{.seed = 5, .stream = 6, .offset = 0U - 100ULL};
  tensor const in = random_tensor<float>(many, 9, values::training);
  guarded<float> x(in, 1);
  std::vector<lowp::bfloat16> casts(many), p(many);
  std::vector<lowp::bfloat16> const g(many, lowp::bfloat16(1));
  lowp::cast(x.span(), casts, mode);
  lowp::update(p, g, lowp::sgd{.lr = 0x1.01p-3}, 2, mode);
  for (std::size_t i = 0; i < many; ++i) {
    auto const bits = [&](std::uint64_t stream) {
      return oracle::random16(5, stream, mode.offset + i, 0, oracle::generator::keyed);
    };
    auto const rounded = [&](std::uint32_t value, std::uint64_t stream) {
      return oracle::encode(facts<lowp::bfloat16>, oracle::from_float_bits(value),
                            oracle::mode::stochastic, oracle::policy::infinity, bits(stream));
    };
    ASSERT_EQ(casts[i].bits(), rounded(in.value(i), 6)) << i;
    ASSERT_EQ(lowp::convert<lowp::bfloat16>(float_of(in.value(i)), mode.after(i)), casts[i]) << i;
    ASSERT_EQ(p[i].bits(), rounded(float_bits(-0x1.01p-3f), oracle::stream_of(0, 2))) << i;
  }
}

}  // namespace
