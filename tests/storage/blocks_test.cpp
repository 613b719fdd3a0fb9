// SPDX-License-Identifier: Apache-2.0
// Moments with a scale for every block: the exact step, then the scale by definition.
#include <gtest/gtest.h>
#include <lowp/lowp.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/blocks.hpp"
#include "support/guarded_pages.hpp"

namespace {

using namespace lowp_test;

template <class Kind>
class block_scaled : public testing::Test {};
using kinds =
    testing::Types<block_kind<lowp::float8_e4m3fn, 128>, block_kind<lowp::float8_e5m2, 256>,
                   block_kind<lowp::float16, 64>, block_kind<lowp::float4_e2m1fn, 32>>;
TYPED_TEST_SUITE(block_scaled, kinds, by_block_kind);

TYPED_TEST(block_scaled, moments_have_the_bits_of_the_exact_step) {
  using kind = TypeParam;
  using T = typename kind::type;
  guarded_pages<T> codes_m;
  guarded_pages<T> codes_v;
  guarded_pages<lowp::float8_e8m0fnu> scales_m;
  guarded_pages<lowp::float8_e8m0fnu> scales_v;
  for (std::size_t size = 0; size <= 1100 && !this->HasFailure(); size += size < 5 ? 1 : 37) {
    for (bool const at_end : {false, true}) {
      SCOPED_TRACE(size);
      adamw_in_blocks<kind> want(size);
      auto const where = [&](std::size_t n) { return place{n, at_end, size % 8}; };
      guarded<float> p(want.p, 1);
      guarded<float> g(want.g, 2);
      auto const m = codes_m.put(want.m.codes, where(size));
      auto const v = codes_v.put(want.v.codes, where(size));
      auto const ms = scales_m.put(want.m.scales, where(want.m.scales.size()));
      auto const vs = scales_v.put(want.v.scales, where(want.v.scales.size()));
      for (std::uint64_t step = 1; step <= 3; ++step) {
        lowp::update(p.span(), g.span(), lowp::blocks_of<kind::block>(m, ms),
                     lowp::blocks_of<kind::block>(v, vs), want.settings, step,
                     want.modes.library());
        want.take(step);
        EXPECT_TRUE(p.holds(want.p, "p"));
        EXPECT_TRUE(codes_m.holds(want.m.codes, "m"));
        EXPECT_TRUE(codes_v.holds(want.v.codes, "v"));
        EXPECT_TRUE(scales_m.holds(want.m.scales, "m.scales"));
        EXPECT_TRUE(scales_v.holds(want.v.scales, "v.scales"));
      }
    }
  }
}

// Nothing saturates, nothing can have a smaller scale, and what is not finite is not hidden.
TEST(block_scaled_values, use_the_range_and_stay_within_it) {
  constexpr std::size_t n = 256;
  for (float const largest : {1e-30f, 3e-5f, 0.9f, 447.0f, 449.0f, 7e30f}) {
    std::vector<float> p(n);
    std::vector<float> g(n, largest / 3);
    g[130] = -largest;
    std::vector<lowp::float8_e4m3fn> codes(n, lowp::float8_e4m3fn(0));
    std::vector<lowp::float8_e8m0fnu> scales(2, lowp::float8_e8m0fnu(1.0f));
    lowp::update(p, g, lowp::blocks_of<128>(codes, scales), lowp::sgd{.lr = 0, .momentum = 0.5}, 1);
    for (std::size_t block = 0; block < 2; ++block) {
      double const amax = block == 0 ? largest / 3.0f : largest;
      double const scale = float(scales[block]);
      EXPECT_LE(amax / scale, 448);
      EXPECT_GT(amax / scale, 224);
    }
    EXPECT_NEAR(float(codes[130]) * float(scales[1]), -largest, largest / 16);
  }
}

TEST(block_scaled_values, a_nan_is_not_lost) {
  std::vector<float> p(256);
  std::vector<float> g(256, 1);
  g[7] = std::nanf("");
  std::vector<lowp::float8_e4m3fn> codes(256, lowp::float8_e4m3fn(0));
  std::vector<lowp::float8_e8m0fnu> scales(2, lowp::float8_e8m0fnu(1.0f));
  lowp::update(p, g, lowp::blocks_of<128>(codes, scales), lowp::sgd{.lr = 0, .momentum = 0.5}, 1);
  EXPECT_TRUE(isnan(scales[0]));
  EXPECT_FALSE(isnan(scales[1]));
}

TEST(block_scaled_values, number_of_scales_is_checked) {
  std::vector<float> p(256);
  std::vector<lowp::float8_e4m3fn> codes(256, lowp::float8_e4m3fn(0));
  std::vector<lowp::float8_e8m0fnu> scales(3);
  try {
    lowp::update(p, p, lowp::blocks_of<128>(codes, scales), lowp::sgd{.lr = 1, .momentum = 0.5}, 1);
    FAIL() << "not refused";
  } catch (std::invalid_argument const& error) {
    EXPECT_STREQ(error.what(),
                 "lowp::update: momentum: 256 elements in blocks of 128 need 2 scales, not 3");
  }
}

}  // namespace
