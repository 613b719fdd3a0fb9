// SPDX-License-Identifier: Apache-2.0
// update_amax against the oracle's steps: the largest gradient and the largest weight that is
// stored, with the bits of an update that reports nothing.
#include <gtest/gtest.h>
#include <lowp/lowp.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "cuda/simulated_grid.hpp"
#include "support.hpp"

namespace {

using namespace lowp_test;

// In the order of magnitudes; NaN is beyond all and has one pattern.
lowp::amax largest_of(tensor const& x) {
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) largest = std::max(largest, x.value(i) & 0x7fffffffU);
  return {largest > 0x7f800000U ? 0x7fc00000U : largest};
}

void expect(lowp::update_amax const& got, tensor const& gradient, tensor const& weight) {
  EXPECT_EQ(got.gradient.bits, largest_of(gradient).bits);
  EXPECT_EQ(got.weight.bits, largest_of(weight).bits);
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
