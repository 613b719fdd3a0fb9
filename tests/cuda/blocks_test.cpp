// SPDX-License-Identifier: Apache-2.0
// block_cast by the GPU's kernel, whose threads find the largest of a block together.
#include <gtest/gtest.h>
#include <lowp/blocks.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "simulated_grid.hpp"
#include "support/block_expectations.hpp"

namespace {

using namespace lowp_test;
using lowp::float8_e8m0fnu;

template <int Block, class T, lowp::element From, class R>
void expect_oracle(unsigned threads, bool floor, R const& rounding, slot_mode const& mode) {
  for (std::size_t const size : {0U, 1U, 31U, 33U, 300U, 1027U}) {
    SCOPED_TRACE(std::to_string(size) + " elements, " + std::to_string(threads) + " threads");
    auto const want = expected_blocks<T, From>(size, Block, floor, mode);
    guarded<From> in(want.in, 1);
    guarded<T> codes(want.codes, 1);
    guarded<float8_e8m0fnu> scales(want.scales, 1);
    for (T& x : codes.span()) x = of_code<T>(1);
    for (float8_e8m0fnu& x : scales.span()) x = of_code<float8_e8m0fnu>(77);
    simulated_grid grid(threads, 3);
    lowp::cuda::on_grid<simulated_grid> const executor{grid};
    auto const blocks = lowp::blocks_of<Block>(codes.span(), scales.span());
    ASSERT_EQ(refusal_of<lowp::detail::block_cast_operation>(
                  executor, in.span(), blocks, rounding,
                  floor ? lowp::scale_rule::floor : lowp::scale_rule::rceil),
              "");
    ASSERT_TRUE(scales.holds(want.scales, "scales"));
    ASSERT_TRUE(codes.holds(want.codes, "codes"));
    guarded<float> out(tensor{oracle::binary32, std::vector<std::uint32_t>(size)}, 1);
    ASSERT_EQ(refusal_of<lowp::detail::block_cast_operation>(executor, blocks, out.span()), "");
    ASSERT_TRUE(out.holds(want.back, "out"));
  }
}

TEST(cuda_blocks, of_32) {
  slot_mode const mode{oracle::mode::stochastic, 1, 2, 3};
  for (bool const floor : {false, true})
    for (unsigned const threads : {4U, 16U})
      expect_oracle<32, lowp::float8_e4m3fn, float>(threads, floor, lowp::stochastic{1, 2, 3},
                                                    mode);
}
TEST(cuda_blocks, of_32_to_nearest) {
  expect_oracle<32, lowp::float4_e2m1fn, float>(8, false, lowp::nearest_even{}, {});
}
TEST(cuda_blocks, refuse_scales_out_of_reach) {
  std::vector<float> x(64);
  std::vector<lowp::float4_e2m1fn> codes(64);
  std::vector<float8_e8m0fnu> scales(2);
  simulated_grid grid(8, 3);
  grid.out_of_reach = scales.data();
  auto const blocks = lowp::blocks_of<32>(codes, scales);
  lowp::cuda::on_grid<simulated_grid> const executor{grid};
  EXPECT_EQ(refusal_of<lowp::detail::block_cast_operation>(executor, x, blocks),
            "block_cast: scales is far away");
  EXPECT_EQ(refusal_of<lowp::detail::block_cast_operation>(executor, blocks, x),
            "block_cast: scales is far away");
  EXPECT_EQ(grid.launches, 0);
}
TEST(cuda_blocks, of_256) {
  expect_oracle<256, lowp::float8_e5m2, lowp::bfloat16>(32, false, lowp::nearest_even{}, {});
}

}  // namespace
