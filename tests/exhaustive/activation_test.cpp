// SPDX-License-Identifier: Apache-2.0
// GELU of all floats: within its bound, of its argument's sign, and no larger.
#include "support/activations.hpp"

#include "support/all_floats.hpp"

namespace {

using namespace lowp_test;

TEST(activation, gelu_of_all_floats) {
  constexpr std::size_t chunk = std::size_t{1} << 16;
  in_parallel((std::size_t{1} << 32) / chunk, [&](std::size_t i) {
    thread_local std::vector<float> floats(chunk);
    thread_local std::vector<float> results(chunk);
    for (std::size_t j = 0; j < chunk; ++j)
      floats[j] = float_of(static_cast<std::uint32_t>(i * chunk + j));
    lowp::gelu_tanh(floats, results);
    auto const result = are_gelus(floats, results);
    EXPECT_TRUE(result);
    return static_cast<bool>(result);
  });
}

}  // namespace
