// SPDX-License-Identifier: Apache-2.0
// update_amax and moment_report against the oracle's steps, with the bits of an update that reports
// nothing.
#include <gtest/gtest.h>
#include <lowp/lowp.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "cuda/simulated_grid.hpp"
#include "support.hpp"

namespace {

using namespace lowp_test;

// Without NaN, which is counted.
void expect(lowp::amax const& got, std::uint64_t nan, tensor const& x) {
  std::uint32_t largest = 0;
  std::uint64_t skipped = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::uint32_t const magnitude = x.value(i) & 0x7fffffffU;
    if (magnitude > 0x7f800000U)
      ++skipped;
    else
      largest = std::max(largest, magnitude);
  }
  EXPECT_EQ(got.bits, largest);
  EXPECT_EQ(nan, skipped);
}

void expect(lowp::update_amax const& got, tensor const& gradient, tensor const& weight) {
  expect(got.gradient, got.nan_gradient, gradient);
  expect(got.weight, got.nan_weight, weight);
}

template <class P>
class update_amax : public testing::Test {};
using parameters = testing::Types<float, lowp::bfloat16, lowp::float16, lowp::float8_e4m3fn>;
TYPED_TEST_SUITE(update_amax, parameters);

constexpr std::array<std::size_t, 8> sizes{1, 7, 16, 63, 64, 65, 300, 1000};

// body(parameters, gradients, first moments, second moments)
template <class P, class Body>
void for_each_tensors(Body const& body) {
  for (values const kind : {values::training, values::corners})
    for (std::size_t const size : sizes) {
      SCOPED_TRACE(size);
      body(random_tensor<P>(size, 1, kind), random_tensor<float>(size, 2, kind),
           random_tensor<float>(size, 3, values::training), random_tensor<float>(size, 4, kind));
    }
}

TYPED_TEST(update_amax, of_adamw) {
  slot_mode const mode{oracle::mode::stochastic, 5, 6, 7};
  lowp::stochastic const rounding{5, 6, 7};
  for_each_tensors<TypeParam>([&](tensor const& params, tensor const& gradients,
                                  tensor const& firsts, tensor const& seconds) {
    tensor want = params;
    tensor want_m = firsts;
    tensor want_v = seconds;
    oracle_update(want, gradients, want_m, want_v, lowp::adamw{}, 3, {mode, mode, mode}, {});
    auto const run = [&](auto const& where) {
      guarded<TypeParam> p(params, 1);
      guarded<float> g(gradients, 2);
      guarded<float> m(firsts, 0);
      guarded<float> v(seconds, 3);
      lowp::update_amax seen;
      ASSERT_EQ(
          refusal_of<lowp::detail::update_operation>(where, p.span(), g.span(), m.span(), v.span(),
                                                     lowp::adamw{}, 3, rounding, seen),
          "");
      EXPECT_TRUE(p.holds(want, "p"));
      EXPECT_TRUE(v.holds(want_v, "v"));
      expect(seen, gradients, want);
    };
    run(lowp::simd::this_thread{});
    simulated_grid grid(8, 3);
    run(lowp::cuda::on_grid<simulated_grid>{grid});
  });
}

TYPED_TEST(update_amax, of_sgd_and_its_policy) {
  slot_mode const mode{};
  for (named_policy const& policy : policies)
    for_each_tensors<TypeParam>(
        [&](tensor const& params, tensor const& gradients, tensor const&, tensor const&) {
          tensor want = params;
          tensor none = params;
          lowp::sgd const sgd{.lr = 0.5};
          oracle_update(want, gradients, none, sgd, 1, {mode, mode, mode}, policy);
          guarded<TypeParam> p(params, 0);
          guarded<float> g(gradients, 1);
          lowp::update_amax seen;
          lowp::update(p.span(), g.span(), sgd, 1, lowp::nearest_even{}, policy.overflow, seen);
          EXPECT_TRUE(p.holds(want, "p"));
          expect(seen, gradients, want);
        });
}

TYPED_TEST(update_amax, of_fused_add_merges) {
  for_each_tensors<TypeParam>(
      [&](tensor const& params, tensor const& u, tensor const&, tensor const&) {
        tensor want = params;
        oracle_fused_add(want, 0.25f, u, {}, {});
        guarded<TypeParam> p(params, 1);
        guarded<float> addend(u, 0);
        std::size_t const half = params.size() / 2;
        lowp::update_amax all;
        lowp::update_amax second;
        lowp::fused_add(p.span().first(half), 0.25f, addend.span().first(half),
                        lowp::nearest_even{}, all);
        lowp::fused_add(p.span().subspan(half), 0.25f, addend.span().subspan(half),
                        lowp::nearest_even{}, second);
        EXPECT_TRUE(p.holds(want, "p"));
        all += second;
        expect(all, u, want);
      });
}

// Counts a moment's elements. Sums hold to 1e-6 of their terms' magnitudes.
struct moment_oracle {
  std::uint64_t wished = 0, stalled = 0, nonfinite = 0;
  oracle::exact_sum error, magnitude, size;

  void add(std::uint32_t old, std::uint32_t exact, std::uint32_t now, bool is_same_code) {
    bool const wishes =
        oracle::from_float_bits(oracle::f32_sub(exact, old)).what != oracle::kind::zero;
    wished += wishes ? 1 : 0;
    stalled += wishes && is_same_code ? 1 : 0;
    std::uint32_t const lost = oracle::f32_sub(now, exact);
    auto const is_summed = [](std::uint32_t x) { return (x & 0x7fffffffU) < float_bits(0x1p120f); };
    if (!is_summed(exact) || !is_summed(lost)) {
      ++nonfinite;
      return;
    }
    error.add(lost);
    magnitude.add(lost & 0x7fffffffU);
    size.add(exact & 0x7fffffffU);
  }
  void expect(lowp::moment_counts const& got) const {
    auto const exactly = [](oracle::exact_sum const& sum) {
      return oracle_test::to_double(sum.value());
    };
    EXPECT_EQ(got.wished, wished);
    EXPECT_EQ(got.stalled, stalled);
    EXPECT_EQ(got.nonfinite, nonfinite);
    EXPECT_NEAR(got.error.value(), exactly(error), 1e-6 * exactly(magnitude));
    EXPECT_NEAR(got.size.value(), exactly(size), 1e-6 * exactly(size));
  }
};

TEST(moment_report, is_the_oracles) {
  using M = lowp::bfloat16;
  using V = lowp::float16;
  std::uint64_t stalled = 0, nonfinite = 0;
  for (values const kind : {values::training, values::corners})
    for (std::size_t const size : sizes)
      for (std::uint64_t seed = 0; seed < 8; ++seed) {
        SCOPED_TRACE(size);
        std::mt19937_64 random(seed);
        slot_modes const modes = seed == 0 ? slot_modes{} : random_modes(random);
        tensor const params = random_tensor<float>(size, 1, values::training);
        tensor const gradients = random_tensor<float>(size, 2 + seed, kind, 0.01);
        tensor const firsts = random_tensor<M>(size, 3 + seed, kind);
        tensor seconds = random_tensor<V>(size, 4 + seed, kind);
        for (std::uint32_t& code : seconds.codes) code &= 0x7fffU;
        tensor want = params;
        tensor want_m = firsts;
        tensor want_v = seconds;
        auto const scalars = oracle::prepare(oracle::adamw_settings{}, 3);
        oracle_update(want, gradients, want_m, want_v, lowp::adamw{}, 3, modes, {});
        moment_oracle m, v;
        for (std::size_t i = 0; i < size; ++i) {
          auto const to = oracle::adamw(params.value(i), gradients.value(i), firsts.value(i),
                                        seconds.value(i), scalars);
          m.add(firsts.value(i), to.m, want_m.value(i), want_m.codes[i] == firsts.codes[i]);
          v.add(seconds.value(i), to.v, want_v.value(i), want_v.codes[i] == seconds.codes[i]);
        }
        stalled += v.stalled;
        nonfinite += m.nonfinite;
        auto const run = [&](auto const& where) {
          guarded<float> p(params, 1);
          guarded<float> g(gradients, 2);
          guarded<M> first(firsts, 0);
          guarded<V> second(seconds, 3);
          lowp::moment_report seen;
          ASSERT_EQ(refusal_of<lowp::detail::update_operation>(
                        where, p.span(), g.span(), first.span(), second.span(), lowp::adamw{}, 3,
                        modes.library(), seen),
                    "");
          EXPECT_TRUE(p.holds(want, "p"));
          EXPECT_TRUE(first.holds(want_m, "m"));
          EXPECT_TRUE(second.holds(want_v, "v"));
          EXPECT_EQ(seen.count, size);
          m.expect(seen.first);
          v.expect(seen.second);
        };
        run(lowp::simd::this_thread{});
        simulated_grid grid(8, 3);
        run(lowp::cuda::on_grid<simulated_grid>{grid});
      }
  EXPECT_GT(stalled, 0U);
  EXPECT_GT(nonfinite, 0U);
}

// The report merges two calls.
TEST(moment_report, sees_the_values_of_storages_and_merges) {
  std::array<float, 2> p{1, 1}, const_g{-1, 0x1p-20f};
  std::array<lowp::float8_e4m3fn, 2> codes{lowp::float8_e4m3fn(1), lowp::float8_e4m3fn(1)};
  lowp::sgd const sgd{.lr = 0, .momentum = 0.5, .dampening = 0.5};
  lowp::moment_report all, other;
  lowp::update(p, const_g, lowp::scaled{codes, 0.5f}, sgd, 2, lowp::nearest_even{}, all);
  // The momentum goes from 2 to 0.5, and from 2 to 1 + 2^-21, of which 2^-21 is lost.
  EXPECT_EQ(all.first.wished, 2U);
  EXPECT_EQ(all.first.stalled, 0U);
  EXPECT_EQ(all.first.error.value(), -0x1p-21);
  EXPECT_EQ(all.first.size.value(), 1.5 + 0x1p-21);
  EXPECT_EQ(all.second.size.value(), 0);
  lowp::update(p, std::array<float, 2>{0.5f, 1.0f}, lowp::scaled{codes, 0.5f}, sgd, 2, other);
  all += other;
  EXPECT_EQ(all.count, 4U);
  EXPECT_EQ(all.first.wished, 2U);  // 0.5 and 1 stay what they are
}

template <class Report>
concept merges_braces = requires(Report& report) { report += {}; };
static_assert(merges_braces<lowp::amax> && merges_braces<lowp::update_amax> &&
              merges_braces<lowp::update_report> && merges_braces<lowp::gradient_report>);

static_assert(!std::is_invocable_v<decltype(lowp::fused_add), std::vector<float>&, float,
                                   std::vector<float>&, lowp::moment_report&>);
static_assert(!std::is_invocable_v<decltype(lowp::update), std::vector<float>&, std::vector<float>&,
                                   lowp::block_scaled<lowp::float8_e4m3fn, 128>, lowp::lion, int,
                                   lowp::moment_report&>);

// The amax is of a storage's values, not of its codes.
TEST(update_amax_of_storages, is_that_of_their_values) {
  std::array<float, 3> weights{1, -300, 2};
  std::array<lowp::bfloat16, 3> copy{};
  std::array<float, 3> const g{4, 0, -8};
  lowp::update_amax seen;
  lowp::update(lowp::master{weights, copy}, g, lowp::sgd{.lr = 1}, 1, lowp::nearest_even{}, seen);
  EXPECT_EQ(seen.weight.value(), 300);
  EXPECT_EQ(seen.gradient.value(), 8);

  std::array<lowp::float8_e4m3fn, 3> codes{lowp::float8_e4m3fn(1), lowp::float8_e4m3fn(448),
                                           lowp::float8_e4m3fn(0)};
  lowp::update_amax scaled;
  lowp::update(lowp::scaled{codes, 0x1p-8f}, g, lowp::sgd{.lr = 0}, 1, lowp::nearest_even{},
               scaled);
  EXPECT_EQ(scaled.weight.value(), 448.0f * 256);
}

}  // namespace
