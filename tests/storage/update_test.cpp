// SPDX-License-Identifier: Apache-2.0
// Steps on every kind of storage, bit for bit against the exact sequence.
#include <gtest/gtest.h>
#include <lowp/lowp.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "support/storages.hpp"

namespace {

using namespace lowp_test;

template <class Kind>
class storage : public testing::Test {};
TYPED_TEST_SUITE(storage, storage_kinds, by_kind);
// Steps of AdamW reach all that a format changes in a layout.
template <class Kind>
class storage_layout : public testing::Test {};
TYPED_TEST_SUITE(storage_layout, each_layout, by_kind);

TYPED_TEST(storage, adamw_has_the_bits_of_the_exact_sequence) {
  using kind = TypeParam;
  std::mt19937_64 random(17);
  for (std::uint64_t i = 0; i < 250 && !this->HasFailure(); ++i) {
    auto const size = lengths[i % lengths.size()];
    auto const step = steps[i / 3 % steps.size()];
    auto const& policy = maybe_policies[i / 2 % 3];
    slot_modes const modes = random_modes(random);
    SCOPED_TRACE("case " + std::to_string(i) + ", step " + std::to_string(step) +
                 (policy ? policy->name : ""));
    values const in = i % 2 == 0 ? values::corners : values::training;
    stored_tensor<kind> p(random_tensor<float>(size, 4 * i, in));
    tensor const g = random_tensor<float>(size, 4 * i + 1, in);
    tensor m = random_tensor<float>(size, 4 * i + 2, in, 0.1);
    tensor v = random_tensor<lowp::bfloat16>(size, 4 * i + 3, values::training, 0.1);
    for (std::uint32_t& code : v.codes) code &= 0x7fffU;

    guarded<typename kind::first> first(p.first, i % 5);
    guarded<typename kind::second> second(p.second, i % 3);
    guarded<float> mine_m(m, i % 4);
    guarded<lowp::bfloat16> mine_v(v, i % 7);
    lowp::update_report report;
    lowp::adamw const settings{.lr = i % 5 == 0 ? 1e-6 : 1e-2, .weight_decay = i % 2 == 0 ? 0 : .1};
    auto const view = kind::view(first.span(), second.span());
    if (policy)
      lowp::update(view, guarded<float>(g, i % 2).span(), mine_m.span(), mine_v.span(), settings,
                   step, modes.library(), policy->overflow, report);
    else
      lowp::update(view, guarded<float>(g, i % 2).span(), mine_m.span(), mine_v.span(), settings,
                   step, modes.library(), report);
    oracle::report const want = oracle_update(p, g, m, v, settings, step, modes, policy);
    EXPECT_TRUE(first.holds(p.first, "the first array"));
    EXPECT_TRUE(second.holds(p.second, "the second array"));
    EXPECT_TRUE(mine_m.holds(m, "m"));
    EXPECT_TRUE(mine_v.holds(v, "v"));
    expect_report(report, want);
  }
}

TYPED_TEST(storage_layout, fused_add_has_the_bits_of_the_exact_sequence) {
  using kind = TypeParam;
  for_each_rounding<modes::two>(
      [&](auto const& rounding, slot_modes const& modes, char const* name) {
        for (std::uint64_t i = 0; i < 60 && !this->HasFailure(); ++i) {
          SCOPED_TRACE(std::string(name) + ", case " + std::to_string(i));
          auto const size = lengths[i % lengths.size()];
          values const in = i % 2 == 0 ? values::corners : values::training;
          stored_tensor<kind> p(random_tensor<float>(size, 2 * i, in));
          tensor const u = random_tensor<float>(size, 2 * i + 1, in);
          guarded<typename kind::first> first(p.first, i % 5);
          guarded<typename kind::second> second(p.second, i % 3);
          lowp::fused_add(kind::view(first.span(), second.span()), -0.01f,
                          guarded<float>(u, 1).span(), rounding);
          oracle_fused_add(p, -0.01f, u, modes.param, {});
          EXPECT_TRUE(first.holds(p.first, "the first array"));
          EXPECT_TRUE(second.holds(p.second, "the second array"));
        }
      });
}

TYPED_TEST(storage_layout, sgd_has_the_bits_of_the_exact_sequence) {
  using kind = TypeParam;
  lowp::sgd const settings{.lr = 1e-3, .weight_decay = 0.1};
  auto const scalars = oracle::prepare(oracle::sgd_settings{1e-3, 0, 0, 0.1, false}, 3);
  std::mt19937_64 random(19);
  for (std::uint64_t i = 0; i < 100 && !this->HasFailure(); ++i) {
    SCOPED_TRACE(i);
    auto const size = lengths[i % lengths.size()];
    slot_modes const modes = random_modes(random);
    values const in = i % 2 == 0 ? values::corners : values::training;
    stored_tensor<kind> p(random_tensor<float>(size, 2 * i, in));
    tensor const g = random_tensor<float>(size, 2 * i + 1, in);
    guarded<typename kind::first> first(p.first, i % 5);
    guarded<typename kind::second> second(p.second, i % 3);
    lowp::update_report report;
    lowp::update(kind::view(first.span(), second.span()), guarded<float>(g, 1).span(), settings, 3,
                 modes.library(), report);
    oracle::report want;
    for (std::size_t k = 0; k < size; ++k) {
      auto const to = oracle::sgd(p.value(k), g.value(k), 0, scalars);
      p.store(k, to.u, to.w, modes.param.at(3), {}, want);
    }
    EXPECT_TRUE(first.holds(p.first, "the first array"));
    EXPECT_TRUE(second.holds(p.second, "the second array"));
    expect_report(report, want);
  }
}

// Every code of the working copy, beside any of the other array: the storage stands for that code
// alone, and a step by 0 leaves it.
TYPED_TEST(storage, resync_starts_from_the_working_copy) {
  using kind = TypeParam;
  using first = typename kind::first;
  using second = typename kind::second;
  using view = decltype(kind::view(std::span<first>(), std::span<second>()));
  if constexpr (requires(view v) { lowp::resync(v); }) {
    constexpr bool is_second = requires(view v) { v.copy; };
    constexpr oracle::facts format = is_second ? slot_facts<second>() : slot_facts<first>();
    std::size_t const size = std::size_t{1} << format.bits();
    tensor codes{format, std::vector<std::uint32_t>(size)};
    std::iota(codes.codes.begin(), codes.codes.end(), 0U);
    tensor floats{oracle::binary32, {}};
    for (std::uint32_t& code : codes.codes) {
      if ((oracle::decode_to_float_bits(format, code) & 0x7fffffffU) > 0x7f800000U) code = 0;
      floats.codes.push_back(oracle::decode_to_float_bits(format, code));
    }
    stored_tensor<kind> const want(floats);
    ASSERT_EQ((is_second ? want.second : want.first).codes, codes.codes);
    guarded<first> a(is_second ? random_tensor<first>(size, 5, values::corners) : codes, 1);
    guarded<second> b(is_second ? codes : random_tensor<second>(size, 6, values::corners), 2);
    view const mine = kind::view(a.span(), b.span());
    lowp::resync(mine);
    EXPECT_TRUE(a.holds(want.first, "the first array"));
    EXPECT_TRUE(b.holds(want.second, "the second array"));
    lowp::fused_add(mine, 0, std::vector<float>(size), lowp::stochastic{.seed = 7});
    for (std::uint32_t& x : floats.codes) x = x == 0x80000000U ? 0 : x;  // the sum is 0
    stored_tensor<kind> const after(floats);
    EXPECT_TRUE(a.holds(after.first, "the first array"));
    EXPECT_TRUE(b.holds(after.second, "the second array"));
  }
}

// Moments and gradients may be kept like parameters.
TEST(storage_of_moments, has_the_bits_of_the_exact_sequence) {
  using moment = scaled_kind<lowp::float16, 7, 3>;
  using gradient = scaled_kind<lowp::float8_e4m3fn, 4>;
  for (std::uint64_t i = 0; i < 40; ++i) {
    auto const size = lengths[i % lengths.size()];
    tensor p = random_tensor<float>(size, 3 * i, values::training);
    stored_tensor<gradient> const g(random_tensor<float>(size, 3 * i + 1, values::training));
    stored_tensor<moment> b(random_tensor<float>(size, 3 * i + 2, values::training));
    guarded<float> mine_p(p, 0);
    guarded<lowp::float8_e4m3fn> mine_g(g.first, 1);
    guarded<lowp::float16> mine_b(b.first, 2);
    slot_modes const modes{{}, {oracle::mode::stochastic, 3, 4, 5}, {}};
    lowp::sgd const settings{.lr = 0.1, .momentum = 0.9};
    lowp::update(mine_p.span(), lowp::scaled{mine_g.span(), 16.f},
                 lowp::scaled{mine_b.span(), 128.f, 8.f}, settings, 2, modes.library());
    auto const scalars = oracle::prepare(oracle::sgd_settings{0.1, 0.9, 0, 0, false}, 2);
    for (std::size_t k = 0; k < size; ++k) {
      auto const to = oracle::sgd(p.value(k), g.value(k), b.value(k), scalars);
      p.codes[k] = to.w;
      slot_mode const mode = modes.first.at(2);
      b.first.codes[k] =
          moment::model.store(to.m, {mode.mode, oracle::policy::infinity, mode.random(k, 1)})
              .codes[0];
    }
    EXPECT_TRUE(mine_p.holds(p, "p"));
    EXPECT_TRUE(mine_g.holds(g.first, "g"));
    EXPECT_TRUE(mine_b.holds(b.first, "momentum"));
  }
}

}  // namespace
