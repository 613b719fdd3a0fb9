// SPDX-License-Identifier: Apache-2.0
// Reports and amax of the GPU's kernel, by blocks of real threads.
#include <gtest/gtest.h>
#include <lowp/lowp.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "simulated_grid.hpp"
#include "train/update/support.hpp"

namespace {

using namespace lowp_test;

constexpr std::array<std::size_t, 7> sizes{1, 7, 8, 255, 256, 257, 1100};

bool same_bytes(lowp::update_report const& a, lowp::update_report const& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// body(threads of a block, blocks)
template <class Body>
void for_each_shape(Body body) {
  for (unsigned const threads : {32U, 64U})
    for (std::uint64_t const blocks : {std::uint64_t{1}, std::uint64_t{3}, ~std::uint64_t{0}}) {
      SCOPED_TRACE(std::to_string(threads) + " threads, " + std::to_string(blocks) + " blocks");
      body(threads, blocks);
    }
}

template <class T>
class cuda_report : public testing::Test {};
using parameters =
    first_or_all<1, testing::Types<lowp::bfloat16, lowp::float16, lowp::float8_e4m3fn>>;
TYPED_TEST_SUITE(cuda_report, parameters, by_format);

TYPED_TEST(cuda_report, of_adamw) {
  using T = TypeParam;
  for (values const kind : {values::training, values::corners}) {
    for (std::size_t const size : sizes) {
      tensor const params = random_tensor<T>(size, 1, kind);
      tensor const gradients = random_tensor<T>(size, 2, kind);
      tensor const firsts = random_tensor<float>(size, 3, values::training);
      tensor const seconds = random_tensor<float>(size, 4, kind);
      slot_mode const mode{oracle::mode::stochastic, 5, 6, 7};
      lowp::stochastic const rounding{5, 6, 7};
      tensor want = params;
      tensor want_m = firsts;
      tensor want_v = seconds;
      oracle::report const expected =
          oracle_update(want, gradients, want_m, want_v, lowp::adamw{}, 3, {mode, mode, mode}, {});
      lowp::update_report on_processor;
      {
        guarded<T> p(params, 0);
        guarded<T> g(gradients, 0);
        guarded<float> m(firsts, 0);
        guarded<float> v(seconds, 0);
        lowp::update(p.span(), g.span(), m.span(), v.span(), lowp::adamw{}, 3, rounding,
                     on_processor);
      }
      for_each_shape([&](unsigned threads, std::uint64_t blocks) {
        guarded<T> p(params, 1);
        guarded<T> g(gradients, 1);
        guarded<float> m(firsts, 1);
        guarded<float> v(seconds, 1);
        simulated_grid grid(threads, blocks);
        lowp::update_report report;
        ASSERT_EQ(refusal_of<lowp::detail::update_operation>(
                      lowp::cuda::on_grid<simulated_grid>{grid}, p.span(), g.span(), m.span(),
                      v.span(), lowp::adamw{}, 3, rounding, report),
                  "");
        EXPECT_TRUE(p.holds(want, "p"));
        expect_report(report, expected);
        EXPECT_TRUE(same_bytes(report, on_processor));
      });
    }
  }
}

// The order in which blocks add does not show: they add integers.
TYPED_TEST(cuda_report, of_a_grid_is_the_same_every_time) {
  using T = TypeParam;
  tensor const params = random_tensor<T>(3000, 1, values::training);
  tensor const u = random_tensor<float>(3000, 2, values::training, 1e-3);
  std::vector<lowp::update_report> seen;
  for (int time = 0; time < 5; ++time) {
    guarded<T> p(params, 0);
    guarded<float> addend(u, 0);
    simulated_grid grid(32, 4);
    lowp::update_report report;
    ASSERT_EQ(refusal_of<lowp::detail::fused_add_operation>(
                  lowp::cuda::on_grid<simulated_grid>{grid}, p.span(), 1.0f, addend.span(),
                  lowp::nearest_even{}, report),
              "");
    seen.push_back(report);
  }
  for (lowp::update_report const& report : seen) EXPECT_TRUE(same_bytes(report, seen[0]));
  EXPECT_NE(seen[0].stalled, 0U);
}

TYPED_TEST(cuda_report, adds_to_what_is_there) {
  using T = TypeParam;
  std::vector<T> p(100, T(1.0f));
  std::vector<float> const u(100, 0.5f);
  simulated_grid grid(32);
  lowp::update_report report;
  for (int time = 0; time < 2; ++time)
    ASSERT_EQ(
        refusal_of<lowp::detail::fused_add_operation>(lowp::cuda::on_grid<simulated_grid>{grid}, p,
                                                      1.0f, u, lowp::nearest_even{}, report),
        "");
  EXPECT_EQ(report.count, 200U);
  EXPECT_EQ(report.requested.value(), 100.0);
  EXPECT_EQ(report.applied_ratio(), 1.0);
}

TYPED_TEST(cuda_report, amax_of_every_element_and_of_no_other) {
  using T = TypeParam;
  for (std::size_t const size : sizes) {
    for_each_shape([&](unsigned threads, std::uint64_t blocks) {
      for (std::size_t at = 0; at < size; at += size < 10 ? 1 : 23) {
        std::vector<float> x(size, -0.25f);
        std::vector<T> y(size);
        simulated_grid grid(threads, blocks);
        auto const amax_with = [&](std::uint32_t bits) {
          x[at] = float_of(bits);
          lowp::amax largest;
          EXPECT_EQ(refusal_of<lowp::detail::scaled_cast_operation>(
                        lowp::cuda::on_grid<simulated_grid>{grid}, x, y, 2.0f, largest),
                    "");
          return largest.bits;
        };
        ASSERT_EQ(amax_with(float_bits(-3.0f)), float_bits(3.0f)) << at << " of " << size;
        ASSERT_EQ(amax_with(0xff800000), 0x7f800000U);
        ASSERT_EQ(amax_with(0xff812345), size == 1 ? 0 : float_bits(0.25f));
        ASSERT_EQ(amax_with(1), size == 1 ? 1 : float_bits(0.25f));
      }
    });
  }
}

}  // namespace
