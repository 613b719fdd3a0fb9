// SPDX-License-Identifier: Apache-2.0
// Scales from every positive float, for every format: each is the largest that fits, by a product
// in double that is exact.
#include <gtest/gtest.h>
#include <lowp/cast.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "support/all_floats.hpp"
#include "support/scales.hpp"

namespace {

using namespace lowp_test;

template <class T>
class scale_of_all_floats : public testing::Test {};
TYPED_TEST_SUITE(scale_of_all_floats, scalable_formats, by_format);

// Nothing larger is a power of two that fits.
bool is_largest(double amax, double scale, double most) {
  return amax * scale <= most && (scale == 0x1p126 || amax * scale * 2 > most);
}

// 2^(127 - code).
double reciprocal(std::uint32_t code) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + 127 - code) << 52);
}

TYPED_TEST(scale_of_all_floats, is_the_largest_that_fits) {
  constexpr double most = facts<TypeParam>.max_finite;
  double const top = std::ldexp(1.0, std::ilogb(most));
  constexpr std::size_t chunk = std::size_t{1} << 20;
  in_parallel((std::size_t{1} << 31) / chunk, [top](std::size_t i) {
    for (std::size_t j = 0; j < chunk; ++j) {
      auto const bits = static_cast<std::uint32_t>(i * chunk + j);
      bool const is_nan = bits > 0x7f800000U;  // which power_of_two_scale refuses
      float const scale = is_nan ? 1.0f : lowp::power_of_two_scale<TypeParam>(lowp::amax{bits});
      std::uint32_t const code = lowp::detail::block_scale<TypeParam>(bits);
      std::uint32_t const floor =
          lowp::detail::block_scale<TypeParam>(bits, lowp::scale_rule::floor);
      if (bits - 1 >= 0x7f800000U - 1) {
        EXPECT_EQ(scale, 1.0f);
        EXPECT_EQ(code, bits == 0 ? 0U : 255U);
        EXPECT_EQ(floor, code);
        if (scale != 1.0f) return false;
        continue;
      }
      double const amax = double{float_of(bits)};
      double const scaled = amax * reciprocal(code);
      // In OCP's rule the block's largest power of two goes to the format's.
      double const floored = amax * reciprocal(floor);
      bool const is_right = is_largest(amax, double{scale}, most) && scaled <= most &&
                            (code == 0 || scaled * 2 > most) && floored < 2 * top &&
                            (floor == 0 || floored >= top);
      if (!is_right) {
        ADD_FAILURE() << std::hexfloat << amax << ": scale " << scale << ", blocks' codes " << code
                      << " and " << floor;
        return false;
      }
    }
    return true;
  });
}

}  // namespace
