// SPDX-License-Identifier: Apache-2.0
// GELU of all floats: within its bound, of its argument's sign, no larger, and the bits of a scalar.
#include "../activations.hpp"

#include "../all_floats.hpp"

namespace {

using namespace lowp_test;

TEST(activation, gelu_of_all_floats) {
  constexpr std::size_t chunk = std::size_t{1} << 16;
  in_parallel((std::size_t{1} << 32) / chunk, [&](std::size_t i) {
    thread_local std::vector<float> floats(chunk);
    for (std::size_t j = 0; j < chunk; ++j)
      floats[j] = float_of(static_cast<std::uint32_t>(i * chunk + j));
    const auto result = are_gelus(floats);
    EXPECT_TRUE(result);
    return static_cast<bool>(result);
  });
}

}  // namespace
