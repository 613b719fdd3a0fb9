// SPDX-License-Identifier: Apache-2.0
// abs_range_of by the GPU's kernel, whatever the shape of the grid.
#include "support/abs_range_expectations.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include "simulated_grid.hpp"

namespace {

using namespace lowp_test;

template <lowp::element From, lowp::element To>
void expect_oracle() {
  for (std::size_t const size : {0U, 1U, 7U, 8U, 63U, 65U, 1001U})
    for (values const kind : {values::corners, values::training})
      for (unsigned const threads : {1U, 8U}) {
        SCOPED_TRACE(std::to_string(size) + " elements, " + std::to_string(threads) + " threads");
        tensor const in = random_tensor<From>(size, size, kind, 3e4);
        guarded<From> x(in, 1);
        simulated_grid grid(threads, 3);
        lowp::cuda::on_grid<simulated_grid> const executor{grid};
        lowp::abs_range_report<To> report;
        ASSERT_EQ(refusal_of<lowp::detail::abs_range_of_operation>(executor, x.span(), report), "");
        ASSERT_TRUE(x.holds(in, "in"));
        lowp::abs_range want = expected_abs_range<To>(in);
        expect(report, want);
        // It adds to what is there.
        ASSERT_EQ(refusal_of<lowp::detail::abs_range_of_operation>(executor, x.span(), report), "");
        want += want;
        expect(report, want);
      }
}

TEST(cuda_abs_range, of_floats) {
  expect_oracle<float, lowp::float16>();
  expect_oracle<float, float>();
}
TEST(cuda_abs_range, of_bfloat16) { expect_oracle<lowp::bfloat16, lowp::float16>(); }
TEST(cuda_abs_range, of_float8_e5m2) { expect_oracle<lowp::float8_e5m2, lowp::float8_e4m3fn>(); }

TEST(cuda_abs_range, refuses_what_it_cannot_reach) {
  std::vector<float> x(3, 1.0f);
  simulated_grid grid(8);
  lowp::cuda::on_grid<simulated_grid> const executor{grid};
  grid.out_of_reach = x.data();
  lowp::abs_range_report<lowp::float16> report;
  EXPECT_EQ(refusal_of<lowp::detail::abs_range_of_operation>(executor, x, report),
            "abs_range_of: in is far away");
  EXPECT_EQ(grid.launches, 0);
}

}  // namespace
