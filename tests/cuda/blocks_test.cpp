// SPDX-License-Identifier: Apache-2.0
// block_cast by the GPU's kernel, whose threads find the largest of a block together.
#include <gtest/gtest.h>
#include <lowp/cast.hpp>
#include <lowp/fused_add.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "simulated_grid.hpp"
#include "support/block_expectations.hpp"
#include "support/packed.hpp"

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
// Packed ranges: the processor's bits, at every length and alignment.
template <class Kind>
void expect_processor() {
  using T = typename Kind::type;
  packed_pages<Kind> pages;
  for (std::size_t size = 0; size < 150; size += Kind::unit) {
    SCOPED_TRACE(size);
    tensor const floats = random_tensor<float>(size, size, values::training, 3);
    guarded<float> x(floats, 1);
    std::vector<T> codes(size);
    auto const view = pages.put(codes, size % 3 == 0, size % 8);
    simulated_grid grid(Kind::is_split ? 32 : 4, 2);
    lowp::cuda::on_grid<simulated_grid> const executor{grid};
    lowp::stochastic const draws{1, 2, 3};
    lowp::cast(x.span(), codes, draws);
    ASSERT_EQ(refusal_of<lowp::detail::cast_operation>(executor, x.span(), view, draws), "");
    ASSERT_TRUE(pages.holds(codes));
    lowp::fused_add(codes, 2.0f, x.span());
    ASSERT_EQ(refusal_of<lowp::detail::fused_add_operation>(executor, view, 2.0f, x.span()), "");
    ASSERT_TRUE(pages.holds(codes));
    std::vector<float> want(size), back(size);
    lowp::cast(codes, want);
    ASSERT_EQ(refusal_of<lowp::detail::cast_operation>(executor, view, back), "");
    ASSERT_EQ(back, want);
    std::vector<float8_e8m0fnu> scales((size + 31) / 32), want_scales(scales);
    lowp::block_cast(x.span(), lowp::blocks_of<32>(codes, want_scales), draws);
    ASSERT_EQ(refusal_of<lowp::detail::block_cast_operation>(
                  executor, x.span(), lowp::blocks_of<32>(view, scales), draws),
              "");
    ASSERT_TRUE(pages.holds(codes));
    for (std::size_t i = 0; i < scales.size(); ++i)
      ASSERT_EQ(scales[i].bits(), want_scales[i].bits());
  }
}
TEST(cuda_packed, of_four_bits) {
  expect_processor<packed_kind<lowp::float4_e2m1fn, lowp::pair_order>>();
}
TEST(cuda_packed, of_four_bits_split) {
  expect_processor<packed_kind<lowp::float4_e2m1fn, lowp::split_order>>();
}
TEST(cuda_packed, of_six_bits) {
  expect_processor<packed_kind<lowp::float6_e2m3fn, lowp::pair_order>>();
}

TEST(cuda_blocks, refuses_rows_of_no_whole_blocks) {
  std::vector<float> const x(96, 1.0f);
  std::vector<lowp::float8_e4m3fn> codes(96);
  std::vector<float8_e8m0fnu> scales(3);
  simulated_grid grid(32, 1);
  lowp::cuda::on_grid<simulated_grid> const executor{grid};
  auto const with = [&](std::size_t columns) {
    return refusal_of<lowp::detail::block_cast_operation>(
        executor, x, lowp::blocks_of<32>(codes, scales), lowp::nearest_even{},
        lowp::block_cast_options{.columns = columns});
  };
  EXPECT_EQ(with(48), "block_cast: 96 elements in rows of 48 are no whole blocks of 32");
  EXPECT_EQ(grid.launches, 0);
  EXPECT_EQ(with(32), "");
  EXPECT_EQ(scales[2].bits(), 119);
}

TEST(cuda_blocks, of_256) {
  expect_oracle<256, lowp::float8_e5m2, lowp::bfloat16>(32, false, lowp::nearest_even{}, {});
}

}  // namespace
