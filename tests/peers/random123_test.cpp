// SPDX-License-Identifier: Apache-2.0
// Beside Random123, whose philox.h has this macro: its name before an opening parenthesis is not
// ours.
#define philox4x32(counter, key) philox4x32_R(philox4x32_rounds, counter, key)

#include <gtest/gtest.h>
#include <lowp/lowp.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace {

TEST(random123, may_be_included_first) {
  constexpr std::array<std::uint32_t, 4> known{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  EXPECT_EQ((lowp::philox4x32)({0, 0, 0, 0}, {0, 0}), known);
  std::vector<float> const x(3, 0x1.01p0f);
  std::vector<lowp::bfloat16> y(3);
  lowp::cast(x, y, lowp::stochastic{.seed = 0});
  // 2^-8 is half of bfloat16's gap: away from zero iff the random bits are at least half of all.
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(y[i], (known[i] & 0xffff) >= 0x8000 ? 1.0078125f : 1.0f);
}

}  // namespace
