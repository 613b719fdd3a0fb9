// SPDX-License-Identifier: Apache-2.0
// unscale and measure by the GPU's kernel: the bits of the oracle, counts exact, sums within
// bounds.
#include <gtest/gtest.h>
#include <lowp/cuda/replay.hpp>
#include <lowp/update.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "simulated_grid.hpp"
#include "support/gradient_expectations.hpp"
#include "train/update/support.hpp"

namespace {

using namespace lowp_test;

constexpr std::array<std::size_t, 7> sizes{0, 1, 7, 8, 63, 65, 300};

template <lowp::element T, class Make>
void expect_oracle(std::size_t size, values kind, unsigned threads, Make const& make,
                   float inverse) {
  tensor const in = random_tensor<T>(size, size, kind);
  slot_mode const mode{oracle::mode::stochastic, 5, 6, 7};
  tensor want = in;
  expected_report measured;
  expected_report unscaled;
  for (std::size_t i = 0; i < size; ++i) {
    std::uint32_t const product = oracle::f32_mul(in.value(i), float_bits(inverse));
    measured.add(in.value(i));
    unscaled.add(product);
    store(want, i, product, mode, 0, {});
  }
  guarded<T> g(in, 1);
  simulated_grid grid(threads, 3);
  lowp::cuda::on_grid<simulated_grid> const executor{grid};
  lowp::gradient_report report;
  ASSERT_EQ(refusal_of<lowp::detail::measure_operation>(executor, g.span(), report), "");
  ASSERT_TRUE(g.holds(in, "g"));
  expect(report, measured, size);
  report = {};
  ASSERT_EQ(refusal_of<lowp::detail::unscale_operation>(executor, g.span(), make, report,
                                                        lowp::stochastic{5, 6, 7}),
            "");
  ASSERT_TRUE(g.holds(want, "g"));
  expect(report, unscaled, size);
}

template <lowp::element T>
void expect_oracle() {
  float const inverse = 1.0f / 3;
  for (std::size_t const size : sizes)
    for (values const kind : {values::corners, values::training})
      for (unsigned const threads : {1U, 8U}) {
        SCOPED_TRACE(std::to_string(size) + " elements, " + std::to_string(threads) + " threads");
        expect_oracle<T>(size, kind, threads, inverse, inverse);
        expect_oracle<T>(size, kind, threads, lowp::cuda::stored_number{&inverse}, inverse);
      }
}

TEST(cuda_gradients, of_floats) { expect_oracle<float>(); }
TEST(cuda_gradients, of_bfloat16) { expect_oracle<lowp::bfloat16>(); }
TEST(cuda_gradients, of_float8_e5m2) { expect_oracle<lowp::float8_e5m2>(); }

TEST(cuda_gradients, refuses_what_lowp_refuses) {
  std::vector<float> g(3, 1.0f);
  simulated_grid grid(8);
  lowp::cuda::on_grid<simulated_grid> const executor{grid};
  lowp::gradient_report report;
  EXPECT_EQ(refusal_of<lowp::detail::unscale_operation>(executor, g, -2.0f, report),
            "unscale: inverse_scale is -2, not finite and above 0");
  EXPECT_EQ(refusal_of<lowp::detail::unscale_operation>(executor, g, 1e-60, report),
            "unscale: inverse_scale is 1e-60, 0 as a float, not finite and above 0");
  grid.out_of_reach = g.data();
  EXPECT_EQ(refusal_of<lowp::detail::measure_operation>(executor, g, report),
            "measure: g is far away");
  EXPECT_EQ(grid.launches, 0);
}

}  // namespace
