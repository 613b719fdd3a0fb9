// SPDX-License-Identifier: Apache-2.0
// sum and dot by the GPU's kernel: counts exact, sums within bounds, whatever the shape of the
// grid.
#include <lowp/measure.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include "simulated_grid.hpp"
#include "support/sum_expectations.hpp"
#include "train/update/support.hpp"

namespace {

using namespace lowp_test;

template <lowp::element A, lowp::element B>
void expect_oracle() {
  for (std::size_t const size : {0U, 1U, 7U, 8U, 65U, 1001U})
    for (values const kind : {values::corners, values::training})
      for (unsigned const threads : {1U, 8U}) {
        SCOPED_TRACE(std::to_string(size) + " elements, " + std::to_string(threads) + " threads");
        tensor const x = random_tensor<A>(size, size, kind);
        tensor const y = random_tensor<B>(size, size + 1, kind, 100);
        expected_sum added;
        expected_sum multiplied;
        for (std::size_t i = 0; i < size; ++i) {
          added.add(x.value(i), float_bits(1.0f));
          multiplied.add(x.value(i), y.value(i));
        }
        guarded<A> a(x, 1);
        guarded<B> b(y, 0);
        simulated_grid grid(threads, 3);
        lowp::cuda::on_grid<simulated_grid> const executor{grid};
        lowp::sum_report report;
        ASSERT_EQ(refusal_of<lowp::detail::sum_operation>(executor, a.span(), report), "");
        expect(report, added);
        report = {};
        ASSERT_EQ(refusal_of<lowp::detail::dot_operation>(executor, a.span(), b.span(), report),
                  "");
        expect(report, multiplied);
      }
}

TEST(cuda_sums, of_floats) { expect_oracle<float, float>(); }
TEST(cuda_sums, of_narrow_types) { expect_oracle<lowp::bfloat16, lowp::float16>(); }

TEST(cuda_sums, refuse_what_lowp_refuses) {
  std::vector<float> x(3, 1.0f);
  simulated_grid grid(8);
  lowp::cuda::on_grid<simulated_grid> const executor{grid};
  grid.out_of_reach = x.data();
  lowp::sum_report report;
  EXPECT_EQ(refusal_of<lowp::detail::sum_operation>(executor, x, report), "sum: x is far away");
  EXPECT_EQ(refusal_of<lowp::detail::dot_operation>(executor, x, x, report), "dot: a is far away");
  EXPECT_EQ(grid.launches, 0);
}

}  // namespace
