// SPDX-License-Identifier: Apache-2.0
// census by the GPU's kernel: counts exact, and sums accurate, whatever the shape of the grid.
#include "support/census_expectations.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "simulated_grid.hpp"

namespace {

using namespace lowp_test;

constexpr std::array<std::size_t, 5> sizes{0, 1, 9, 255, 1001};

template <lowp::element From, lowp::element To>
void expect_oracle(tensor const& in, unsigned threads) {
  guarded<From> x(in, 1);
  simulated_grid grid(threads, 3);
  lowp::cuda::on_grid<simulated_grid> const executor{grid};
  lowp::census_report<To> report;
  ASSERT_EQ(refusal_of<lowp::detail::census_operation>(executor, x.span(), report), "");
  ASSERT_TRUE(x.holds(in, "in"));
  expect(report, expected_of<To>(in));
  // It adds to what is there, as a host's does.
  ASSERT_EQ(refusal_of<lowp::detail::census_operation>(executor, x.span(), report), "");
  lowp::range_census twice = lowp::census<To>(x.span());
  twice += twice;
  EXPECT_TRUE(same(report, twice));
}
template <lowp::element From, lowp::element To>
void expect_oracle() {
  for (std::size_t const size : sizes)
    for (values const kind : {values::corners, values::training})
      for (unsigned const threads : {32U, 64U}) {
        SCOPED_TRACE(std::to_string(size) + " elements, " + std::to_string(threads) + " threads");
        expect_oracle<From, To>(random_tensor<From>(size, size, kind, 0.02), threads);
      }
}

TEST(cuda_census, of_floats) {
  expect_oracle<float, lowp::float16>();
  expect_oracle<float, lowp::bfloat16>();
  expect_oracle<float, lowp::float8_e4m3fn>();
}
TEST(cuda_census, of_all_magnitudes) {
  expect_oracle<float, lowp::float16>(groups_of_magnitudes(), 64);
  expect_oracle<float, lowp::bfloat16>(groups_of_magnitudes(), 32);
}
// A warp counts more groups than its digits hold, in windows that move.
TEST(cuda_census, of_a_long_tensor) {
  tensor in = random_tensor<float>(30'000, 3, values::training, 0.02);
  tensor const small = random_tensor<float>(30'000, 4, values::training, 0x1p-60);
  in.codes.insert(in.codes.end(), small.codes.begin(), small.codes.end());
  in.codes.insert(in.codes.end(), 120'000, 0x3f800000U);
  expect_oracle<float, lowp::float16>(in, 32);
}
TEST(cuda_census, of_bfloat16) { expect_oracle<lowp::bfloat16, lowp::float16>(); }
TEST(cuda_census, of_float8_e5m2) { expect_oracle<lowp::float8_e5m2, lowp::float4_e2m1fn>(); }

TEST(cuda_census, refuses_what_lowp_refuses) {
  std::vector<float> x(3, 1.0f);
  simulated_grid grid(32);
  lowp::cuda::on_grid<simulated_grid> const executor{grid};
  grid.out_of_reach = x.data();
  lowp::census_report<lowp::float16> report;
  EXPECT_EQ(refusal_of<lowp::detail::census_operation>(executor, x, report),
            "census: in is far away");
  EXPECT_EQ(grid.launches, 0);
}

}  // namespace
