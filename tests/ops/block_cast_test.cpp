// SPDX-License-Identifier: Apache-2.0
// block_cast there and back: scales by a search in double, codes and values by the oracle.
#include <gtest/gtest.h>
#include <lowp/cast.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "support/block_expectations.hpp"
#include "support/refusals.hpp"
#include "train/update/support.hpp"

namespace {

using namespace lowp_test;
using lowp::float8_e8m0fnu;

template <class T>
class blocks : public testing::Test {};
using block_formats = testing::Types<lowp::float8_e4m3fn, lowp::float8_e5m2, lowp::float6_e3m2fn,
                                     lowp::float4_e2m1fn>;
TYPED_TEST_SUITE(blocks, block_formats, by_format);

template <int Block, class T, lowp::element From, class R>
void expect_oracle(std::size_t size, bool floor, R const& rounding, slot_mode const& mode) {
  SCOPED_TRACE(std::to_string(size) + " in blocks of " + std::to_string(Block));
  auto const want = expected_blocks<T, From>(size, Block, floor, mode);
  for (std::size_t const lead : {0U, 5U}) {
    guarded<From> from(want.in, lead);
    guarded<T> codes(want.codes, lead);
    guarded<float8_e8m0fnu> scales(want.scales, lead);
    for (T& x : codes.span()) x = of_code<T>(1);
    for (float8_e8m0fnu& x : scales.span()) x = of_code<float8_e8m0fnu>(77);
    lowp::block_cast(from.span(), lowp::blocks_of<Block>(codes.span(), scales.span()), rounding,
                     floor ? lowp::scale_rule::floor : lowp::scale_rule::rceil);
    ASSERT_TRUE(scales.holds(want.scales, "scales"));
    ASSERT_TRUE(codes.holds(want.codes, "codes"));
    ASSERT_TRUE(from.holds(want.in, "in"));
    guarded<float> out(tensor{oracle::binary32, std::vector<std::uint32_t>(size)}, lead);
    std::span<T const> const const_codes = codes.span();
    std::span<float8_e8m0fnu const> const const_scales = scales.span();
    lowp::block_cast(lowp::blocks_of<Block>(const_codes, const_scales), out.span());
    ASSERT_TRUE(out.holds(want.back, "out"));
  }
}

constexpr std::array<std::size_t, 10> sizes{0, 1, 31, 32, 33, 255, 256, 300, 1024, 2021};

TYPED_TEST(blocks, are_those_of_the_oracle) {
  for_each_rounding<modes::two>([](auto const& rounding, slot_modes const& mode, char const* name) {
    SCOPED_TRACE(name);
    for (bool const floor : {false, true})
      for (std::size_t const size : sizes)
        expect_oracle<32, TypeParam, float>(size, floor, rounding, mode.param);
  });
}

TYPED_TEST(blocks, of_256) {
  slot_mode const mode{oracle::mode::stochastic, 1, 2, 3};
  for (std::size_t const size : sizes)
    expect_oracle<256, TypeParam, lowp::bfloat16>(size, false, lowp::stochastic{1, 2, 3}, mode);
}

TEST(blocks_of_fp8, of_128_rounded_upward) {
  for (std::size_t const size : sizes)
    expect_oracle<128, lowp::float8_e4m3fn, float>(size, true, lowp::upward{},
                                                   {.mode = oracle::mode::upward});
}

// Nothing saturates. Elements within 2^-6 of their block's largest are off by at most half a unit
// in their fourth bit: subnormals of e4m3fn begin at 2^-15 of the largest.
TEST(blocks_of_fp8, lose_little) {
  tensor const in = random_tensor<float>(4096, 5, values::training);
  guarded<float> x(in, 0);
  std::vector<lowp::float8_e4m3fn> codes(4096);
  std::vector<float8_e8m0fnu> scales(128);
  std::vector<float> back(4096);
  lowp::block_cast(x.span(), lowp::blocks_of<32>(codes, scales));
  lowp::block_cast(lowp::blocks_of<32>(codes, scales), back);
  for (std::size_t i = 0; i < back.size(); ++i) {
    float largest = 0;
    for (std::size_t j = i / 32 * 32; j < i / 32 * 32 + 32; ++j)
      largest = std::max(largest, std::fabs(x.span()[j]));
    if (std::fabs(x.span()[i]) > largest / 64) {
      ASSERT_NEAR(back[i], x.span()[i], std::fabs(x.span()[i]) / 16) << i;
    }
  }
}

// A shard that begins at a block gives the bits of the whole.
TEST(blocks_of_fp8, of_shards_are_those_of_the_whole) {
  tensor const in = random_tensor<float>(3000, 6, values::training);
  guarded<float> x(in, 0);
  lowp::stochastic const rounding{.seed = 1, .offset = 5};
  std::vector<lowp::float8_e4m3fn> whole(3000);
  std::vector<lowp::float8_e4m3fn> shards(3000);
  std::vector<float8_e8m0fnu> whole_scales(94);
  std::vector<float8_e8m0fnu> shard_scales(94);
  lowp::block_cast(x.span(), lowp::blocks_of<32>(whole, whole_scales), rounding);
  for (std::size_t first = 0; first < 3000; first += 320) {
    std::size_t const count = std::min<std::size_t>(320, 3000 - first);
    lowp::block_cast(
        x.span().subspan(first, count),
        lowp::blocks_of<32>(std::span(shards).subspan(first, count),
                            std::span(shard_scales).subspan(first / 32, (count + 31) / 32)),
        rounding.after(first));
  }
  for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_EQ(whole[i].bits(), shards[i].bits());
  for (std::size_t i = 0; i < 94; ++i) ASSERT_EQ(whole_scales[i].bits(), shard_scales[i].bits());
}

// Rows of whole blocks have the codes of the flat range, and each its own scales.
TEST(blocks_of_fp8, of_rows) {
  tensor const in = random_tensor<float>(6 * 64, 7, values::training);
  guarded<float> x(in, 0);
  std::vector<lowp::float8_e4m3fn> codes(x.span().size()), want(codes);
  std::vector<float8_e8m0fnu> scales(12), want_scales(12);
  lowp::stochastic const rounding{.seed = 3};
  for (lowp::scale_rule const rule : {lowp::scale_rule::rceil, lowp::scale_rule::floor}) {
    lowp::block_cast(x.span(), lowp::blocks_of<32>(want, want_scales), rounding, rule,
                     lowp::overflow::infinity);
    lowp::block_cast(x.span(), lowp::blocks_of<32>(codes, scales), rounding,
                     {.columns = 64, .rule = rule, .overflow = lowp::overflow::infinity});
    for (std::size_t i = 0; i < codes.size(); ++i) ASSERT_EQ(codes[i].bits(), want[i].bits());
    for (std::size_t i = 0; i < 12; ++i) ASSERT_EQ(scales[i].bits(), want_scales[i].bits());
  }
}

TEST(blocks_of_fp8, in_place) {
  tensor const in = blocky<lowp::float8_e5m2>(1000, 256);
  guarded<lowp::float8_e5m2> x(in, 0);
  std::vector<lowp::float8_e4m3fn> want(1000);
  std::vector<float8_e8m0fnu> want_scales(4);
  std::vector<float8_e8m0fnu> scales(4);
  lowp::block_cast(x.span(), lowp::blocks_of<256>(want, want_scales));
  std::span<lowp::float8_e4m3fn> const there(
      reinterpret_cast<lowp::float8_e4m3fn*>(x.span().data()), 1000);
  lowp::block_cast(x.span(), lowp::blocks_of<256>(there, scales));
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(there[i].bits(), want[i].bits());
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(scales[i].bits(), want_scales[i].bits());
}

TEST(blocks_of_fp8, refuses_by_name_and_size) {
  std::vector<float> x(70, 1.0f);
  std::vector<lowp::float8_e4m3fn> codes(70);
  std::vector<float8_e8m0fnu> scales(3);
  std::vector<float8_e8m0fnu> few(2);
  EXPECT_EQ(refusal_of([&] { lowp::block_cast(x, lowp::blocks_of<32>(codes, few)); }),
            "lowp::block_cast: 70 elements in blocks of 32 need 3 scales, not 2");
  EXPECT_EQ(refusal_of([&] { lowp::block_cast(lowp::blocks_of<32>(codes, few), x); }),
            "lowp::block_cast: 70 elements in blocks of 32 need 3 scales, not 2");
  EXPECT_EQ(refusal_of([&] {
              lowp::block_cast(std::span(x).first(69), lowp::blocks_of<32>(codes, scales));
            }),
            "lowp::block_cast: sizes differ: in has 69, codes has 70");
  for (std::size_t const columns : {35U, 48U, 70U, 96U})
    EXPECT_EQ(refusal_of([&] {
                lowp::block_cast(x, lowp::blocks_of<32>(codes, scales), lowp::nearest_even{},
                                 {.columns = columns});
              }),
              "lowp::block_cast: 70 elements in rows of " + std::to_string(columns) +
                  " are no whole blocks of 32");
  std::span<lowp::float8_e4m3fn> const inside(reinterpret_cast<lowp::float8_e4m3fn*>(x.data()), 70);
  EXPECT_EQ(refusal_of([&] {
              lowp::block_cast(x, lowp::blocks_of<32>(inside, scales));
            }).find("lowp::block_cast: in (280 bytes) and codes (70 bytes) overlap"),
            0U);
  std::span<float8_e8m0fnu> const scales_inside(reinterpret_cast<float8_e8m0fnu*>(codes.data()) + 9,
                                                3);
  EXPECT_NE(refusal_of([&] {
              lowp::block_cast(x, lowp::blocks_of<32>(codes, scales_inside));
            }).find("overlap"),
            std::string::npos);
  std::span<float8_e8m0fnu> const scales_in_x(reinterpret_cast<float8_e8m0fnu*>(x.data()) + 9, 3);
  EXPECT_NE(refusal_of([&] {
              lowp::block_cast(x, lowp::blocks_of<32>(codes, scales_in_x));
            }).find("in (280 bytes) and scales (3 bytes) overlap"),
            std::string::npos);
  EXPECT_EQ(x, std::vector(70, 1.0f));
}

}  // namespace
