// SPDX-License-Identifier: Apache-2.0
// The report of an update against exact counts and exact sums.
#include <gtest/gtest.h>
#include <lowp/fused_add.hpp>
#include <lowp/update.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "train/update/support.hpp"

namespace {

using namespace lowp_test;

double exact(oracle::exact_sum const& sum) { return oracle_test::to_double(sum.value()); }

// A10: counts are exact, sums accurate to 1e-6.
testing::AssertionResult agrees(lowp::update_report const& got, oracle::report const& want) {
  auto const close = [](double x, double y) { return x == y || std::fabs(x - y) <= 1e-6 * y; };
  if (got.count == want.count && got.stalled == want.stalled && got.overflowed == want.overflowed &&
      got.nonfinite == want.nonfinite && close(got.applied.value(), exact(want.applied)) &&
      close(got.requested.value(), exact(want.wanted)) &&
      std::fabs(got.applied_ratio() - want.applied_ratio()) <= 2e-6 * want.applied_ratio())
    return testing::AssertionSuccess();
  auto const show = [](std::uint64_t count, std::uint64_t stalled, std::uint64_t overflowed,
                       std::uint64_t nonfinite, double applied, double wanted, double ratio) {
    return std::to_string(count) + " elements, " + std::to_string(stalled) + " stalled, " +
           std::to_string(overflowed) + " overflowed, " + std::to_string(nonfinite) +
           " nonfinite, " + shown(applied) + " of " + shown(wanted) + " applied, ratio " +
           shown(ratio);
  };
  return testing::AssertionFailure()
         << "expected "
         << show(want.count, want.stalled, want.overflowed, want.nonfinite, exact(want.applied),
                 exact(want.wanted), want.applied_ratio())
         << "\n     got "
         << show(got.count, got.stalled, got.overflowed, got.nonfinite, got.applied.value(),
                 got.requested.value(), got.applied_ratio());
}

template <class T>
class report : public testing::Test {};
using parameters = some_or_all<
    testing::Types<float, lowp::bfloat16, lowp::float8_e4m3fn, lowp::float8_e8m0fnu>,
    testing::Types<float, lowp::bfloat16, lowp::float16, lowp::float8_e4m3fn, lowp::float8_e5m2,
                   lowp::float8_e4m3fnuz, lowp::float8_e8m0fnu, lowp::float6_e2m3fn>>;
struct by_slot {
  template <class T>
  static std::string GetName(int) {
    return slot_facts<T>().name;
  }
};
TYPED_TEST_SUITE(report, parameters, by_slot);

template <class T>
tensor parameters_for(std::uint64_t seed, std::size_t size) {
  return random_tensor<T>(size, seed, seed % 2 == 0 ? values::corners : values::training);
}

TYPED_TEST(report, of_fused_add_is_exact) {
  using T = TypeParam;
  for_each_rounding<modes::two>(
      [&](auto const& rounding, slot_modes const& modes, char const* name) {
        for (std::uint64_t i = 0; i < 100 && !this->HasFailure(); ++i) {
          SCOPED_TRACE(std::string(name) + ", case " + std::to_string(i));
          std::size_t const size = lengths[i % lengths.size()];
          auto const& policy = maybe_policies[i / 2 % 3];
          float const alpha = i % 7 == 0 ? 0x1p100f : i % 5 == 0 ? 0x1p-40f : -0.01f;
          tensor p = parameters_for<T>(i, size);
          tensor const u = random_tensor<float>(
              size, i + 99, i % 3 == 0 ? values::corners : values::training, i % 4 < 2 ? 1 : 1e-2);
          guarded<T> mine(p, i % 5);
          guarded<float> mine_u(u, i % 3);
          lowp::update_report got;
          if (policy)
            lowp::fused_add(mine.span(), alpha, mine_u.span(), rounding, policy->overflow, got);
          else
            lowp::fused_add(mine.span(), alpha, mine_u.span(), rounding, got);
          oracle::report const want = oracle_fused_add(p, alpha, u, modes.param, policy);
          EXPECT_TRUE(agrees(got, want));
          EXPECT_TRUE(mine.holds(p, "p"));
        }
      });
}

// With and without infinity.
template <class T>
class report_of_update : public testing::Test {};
using updated_parameters =
    first_or_all<2,
                 testing::Types<lowp::bfloat16, lowp::float8_e4m3fn, float, lowp::float8_e4m3fnuz>>;
TYPED_TEST_SUITE(report_of_update, updated_parameters, by_slot);

TYPED_TEST(report_of_update, of_sgd_and_adamw_is_exact) {
  using T = TypeParam;
  std::mt19937_64 random(51);
  for (std::uint64_t i = 0; i < 300 && !this->HasFailure(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    std::size_t const size = lengths[i % lengths.size()];
    auto const& policy = maybe_policies[i / 2 % 3];
    slot_modes const modes = random_modes(random);
    tensor const g = parameters_for<lowp::bfloat16>(i / 2, size);
    tensor p = parameters_for<T>(i, size);
    tensor m = parameters_for<float>(i + 1, size);
    tensor v = parameters_for<lowp::float8_e5m2>(i + 3, size);
    for (std::uint32_t& code : v.codes) code &= 0x7f;
    guarded<T> mine_p(p, 0);
    guarded<lowp::bfloat16> mine_g(g, 0);
    guarded<float> mine_m(m, 0);
    guarded<lowp::float8_e5m2> mine_v(v, 0);
    lowp::adamw const a{.lr = i % 5 == 0 ? 1e6 : 1e-2, .eps = i % 3 == 0 ? 0 : 1e-8};
    lowp::sgd const s{.lr = i % 5 == 0 ? 1e6 : 1e-3, .momentum = 0.9, .nesterov = i % 2 == 0};
    std::uint64_t const step = 1 + i % 4;
    lowp::update_report got;
    oracle::report want;
    if (i % 3 != 0) {
      if (policy)
        lowp::update(mine_p.span(), mine_g.span(), mine_m.span(), mine_v.span(), a, step,
                     modes.library(), policy->overflow, got);
      else
        lowp::update(mine_p.span(), mine_g.span(), mine_m.span(), mine_v.span(), a, step,
                     modes.library(), got);
      want = oracle_update(p, g, m, v, a, step, modes, policy);
    } else {
      lowp::update(mine_p.span(), mine_g.span(), mine_m.span(), s, step, modes.library(), got);
      want = oracle_update(p, g, m, s, step, modes, {});
    }
    EXPECT_TRUE(agrees(got, want));
    EXPECT_TRUE(mine_p.holds(p, "p"));
    EXPECT_TRUE(mine_m.holds(m, "m"));
    EXPECT_TRUE(mine_v.holds(v, "v"));
  }
}

// The loop works on whole packs. What fills up the last one, with eps 0 a 0/0, must not be seen.
TEST(report_padding, is_never_counted) {
  for (std::size_t size = 0; size <= 40; ++size) {
    std::vector<lowp::bfloat16> p(size, lowp::bfloat16(1));
    std::vector<lowp::bfloat16> v(size, lowp::bfloat16(1));
    std::vector<lowp::bfloat16> m(size, lowp::bfloat16(0));
    std::vector<lowp::bfloat16> const g(size, lowp::bfloat16(1));
    lowp::update_report got;
    lowp::update(p, g, m, v, lowp::adamw{.lr = 0.25, .eps = 0, .weight_decay = 0.5}, 1,
                 lowp::nearest_even{}, got);
    EXPECT_EQ(got.count, size);
    EXPECT_EQ(got.nonfinite, 0U);
    EXPECT_EQ(got.stalled, 0U);
    EXPECT_EQ(got.overflowed, 0U);
  }
}

// Old, new and u are finite, and yet rounding makes the step larger than any float.
TEST(report_of_fused_add, counts_a_difference_that_overflows_as_nonfinite) {
  auto const code = [](float x) { return std::uint32_t{lowp::bfloat16(x).bits()}; };
  for (std::size_t const size : lengths) {
    tensor p{oracle::bfloat16, std::vector<std::uint32_t>(size, code(1))};
    tensor u{oracle::binary32, std::vector<std::uint32_t>(size, float_bits(0.5f))};
    for (std::size_t i = 0; i < size; i += 3) {
      p.codes[i] = code(-2e38f);
      u.codes[i] = float_bits(3.4e38f);
    }
    guarded<lowp::bfloat16> mine(p, 0);
    lowp::update_report got;
    lowp::fused_add(mine.span(), 1.0f, guarded<float>(u, 0).span(), lowp::upward{}, got);
    EXPECT_TRUE(agrees(got, oracle_fused_add(p, 1.0f, u, {oracle::mode::upward}, {})));
    EXPECT_EQ(got.nonfinite, (size + 2) / 3);
    EXPECT_EQ(got.applied_ratio(), 1.0);
  }
}

TEST(report_sums, is_1_if_no_update_was_wanted) {
  EXPECT_EQ(lowp::update_report{}.applied_ratio(), 1.0);
  std::vector<lowp::bfloat16> p(5, lowp::bfloat16(3));
  lowp::update_report got;
  lowp::fused_add(p, 0.0f, std::vector<float>(5, 7.0f), lowp::nearest_even{}, got);
  EXPECT_EQ(got.count, 5U);
  EXPECT_EQ(got.stalled, 0U);
  EXPECT_EQ(got.applied_ratio(), 1.0);
  lowp::fused_add(p, 0x1p-20f, std::vector<float>(5, 1.0f), lowp::nearest_even{}, got);
  EXPECT_EQ(got.stalled, 5U);
  EXPECT_EQ(got.applied_ratio(), 0.0);
}

// Large terms first, then small ones: each vanishes beside a large one, but their sum does not.
TEST(report_sums, small_terms_are_not_lost_behind_large_ones) {
  constexpr std::size_t size = 600000;
  tensor p{oracle::binary32, std::vector<std::uint32_t>(size, 0)};
  tensor u{oracle::binary32, std::vector<std::uint32_t>(size, float_bits(0x1.fffffep-26f))};
  std::fill_n(u.codes.begin(), 16, float_bits(-1.0f));
  u.codes[size - 1] = float_bits(0x1p-149f);
  guarded<float> mine(p, 0);
  lowp::update_report got;
  lowp::fused_add(mine.span(), 1.0f, guarded<float>(u, 0).span(), lowp::nearest_even{}, got);
  oracle::report const want = oracle_fused_add(p, 1.0f, u, {}, {});
  EXPECT_TRUE(agrees(got, want));
  EXPECT_GT(exact(want.wanted), 16 * (1 + 3e-6));  // or this test could not fail
}

// Group after group is too small for a double to keep beside what is there.
TEST(report_sums, of_groups_are_joined_exactly) {
  constexpr std::size_t size = std::size_t{1} << 22;
  constexpr std::size_t ones = 64;
  std::vector<float> u(size);
  std::vector<float> p(size);
  for (int exponent = -62; exponent < -52; ++exponent) {
    float const small = std::ldexp(1.99f, exponent);
    std::fill(u.begin(), u.end(), small);
    std::fill_n(u.begin(), ones, -1.0f);
    std::fill(p.begin(), p.end(), 0.0f);
    lowp::update_report got;
    lowp::fused_add(p, 1.0f, u, lowp::nearest_even{}, got);
    double const want = ones + static_cast<double>(size - ones) * double{small};
    EXPECT_NEAR(got.requested.value() / want, 1, 1e-12) << exponent;
    EXPECT_NEAR(got.applied.value() / want, 1, 1e-12) << exponent;
  }
}

// The order that every backend, and a GPU, keeps.
TEST(report_sums, add_halves_of_groups_in_float) {
  constexpr std::size_t group = 256;
  tensor const u = random_tensor<float>(3 * group + 5, 64, values::training);
  lowp::exact_sum want;
  for (std::size_t first = 0; first < u.size(); first += group) {
    std::array<float, group> sums{};
    for (std::size_t i = 0; i < std::min(group, u.size() - first); ++i)
      sums[i] = std::fabs(float_of(u.codes[first + i]));
    for (std::size_t half = group / 2; half != 0; half /= 2)
      for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
    want += double{sums[0]};
  }
  std::vector<float> p(u.size());
  lowp::update_report got;
  lowp::fused_add(p, 1.0f, guarded<float>(u, 0).span(), lowp::nearest_even{}, got);
  EXPECT_EQ(got.requested.value(), want.value());
}

TEST(report_sums, reach_beyond_the_range_of_float) {
  tensor p{oracle::bfloat16, std::vector<std::uint32_t>(1000, 0)};
  tensor const u{oracle::binary32, std::vector<std::uint32_t>(1000, 0x7f7f0000)};
  guarded<lowp::bfloat16> mine(p, 0);
  lowp::update_report got;
  lowp::fused_add(mine.span(), -1.0f, guarded<float>(u, 0).span(), lowp::nearest_even{}, got);
  EXPECT_TRUE(agrees(got, oracle_fused_add(p, -1.0f, u, {}, {})));
  EXPECT_EQ(got.applied_ratio(), 1.0);
}

TEST(report_merging, adds_to_what_is_there_and_shards_add_up_to_the_whole) {
  constexpr std::size_t size = 1000;
  lowp::stochastic const rounding{.seed = 8, .stream = 9, .offset = 10};
  tensor const p = random_tensor<lowp::float8_e4m3fn>(size, 61, values::corners);
  tensor const u = random_tensor<float>(size, 62, values::training, 30);
  guarded<float> mine_u(u, 0);
  tensor expected = p;
  oracle::report const want = oracle_fused_add(
      expected, 3.0f, u, {oracle::mode::stochastic, rounding.seed, rounding.stream, 10}, {});
  ASSERT_GT(want.stalled, 0U);
  ASSERT_GT(want.overflowed, 0U);
  ASSERT_GT(want.nonfinite, 0U);

  std::mt19937_64 random(63);
  for (int round = 0; round < 50; ++round) {
    guarded<lowp::float8_e4m3fn> mine(p, 0);
    lowp::update_report merged;
    lowp::update_report running;
    for (std::size_t first = 0, count = 0; first < size; first += count) {
      count = std::min<std::size_t>(size - first, random() % 90);
      lowp::stochastic shard = rounding;
      shard.offset += first;
      lowp::update_report got;
      guarded<lowp::float8_e4m3fn> again(mine);
      lowp::fused_add(mine.span().subspan(first, count), 3.0f, mine_u.span().subspan(first, count),
                      shard, got);
      lowp::fused_add(again.span().subspan(first, count), 3.0f, mine_u.span().subspan(first, count),
                      shard, running);
      EXPECT_EQ(got.count, count);
      EXPECT_EQ(&(merged += got), &merged);
    }
    ASSERT_TRUE(agrees(merged, want));
    ASSERT_TRUE(agrees(running, want));
    ASSERT_TRUE(mine.holds(expected, "p"));
  }
}

}  // namespace
