// SPDX-License-Identifier: Apache-2.0
// Scales from every positive float, for every format: each is the largest that fits, by a product in
// double that is exact.
#include <gtest/gtest.h>
#include <lowp/scale.hpp>

#include <cstddef>
#include <cstdint>

#include "../all_floats.hpp"
#include "../scales.hpp"

namespace {

using namespace lowp_test;

template <class T>
class scale_of_all_floats : public testing::Test {};
TYPED_TEST_SUITE(scale_of_all_floats, scalable_formats, by_format);

// Nothing larger is a power of two that fits.
bool is_largest(double amax, double scale, double most) {
  return amax * scale <= most && (scale == 0x1p126 || amax * scale * 2 > most);
}

TYPED_TEST(scale_of_all_floats, is_the_largest_that_fits) {
  constexpr double most = facts<TypeParam>.max_finite;
  constexpr std::size_t chunk = std::size_t{1} << 20;
  in_parallel((std::size_t{1} << 31) / chunk, [](std::size_t i) {
    for (std::size_t j = 0; j < chunk; ++j) {
      const auto bits = static_cast<std::uint32_t>(i * chunk + j);
      const float scale = lowp::power_of_two_scale<TypeParam>(lowp::amax{bits});
      const std::uint32_t code = lowp::detail::block_scale<TypeParam>(bits);
      const std::uint32_t floor =
          lowp::detail::block_scale<TypeParam>(bits, lowp::scale_rule::floor);
      if (bits - 1 >= 0x7f800000U - 1) {
        EXPECT_EQ(scale, 1.0F);
        EXPECT_EQ(code, bits == 0 ? 0U : 255U);
        EXPECT_EQ(floor, code);
        if (scale != 1.0F) return false;
        continue;
      }
      const double amax = double{float_of(bits)};
      const double block = std::ldexp(1.0, 127 - static_cast<int>(code));
      // In OCP's rule the block's largest power of two goes to the format's.
      const double floored = std::ldexp(amax, 127 - static_cast<int>(floor));
      const double top = std::ldexp(1.0, std::ilogb(most));
      const bool is_right = is_largest(amax, double{scale}, most) && amax * block <= most &&
                            (code == 0 || amax * block * 2 > most) && floored < 2 * top &&
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
