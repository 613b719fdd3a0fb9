// SPDX-License-Identifier: Apache-2.0
// Activations of all floats, and their derivatives: within their bounds. Results have the
// argument's sign and are no larger.
#include "support/activations.hpp"

#include "support/all_floats.hpp"

namespace {

using namespace lowp_test;

template <class Activation>
class activation : public testing::Test {};
TYPED_TEST_SUITE(activation, activations);

// Calls expect(floats) for chunks of all floats, until one fails.
template <class Expect>
void for_all_floats(Expect const& expect) {
  constexpr std::size_t chunk = std::size_t{1} << 16;
  in_parallel((std::size_t{1} << 32) / chunk, [&](std::size_t i) {
    thread_local std::vector<float> floats(chunk);
    for (std::size_t j = 0; j < chunk; ++j)
      floats[j] = float_of(static_cast<std::uint32_t>(i * chunk + j));
    testing::AssertionResult const result = expect(floats);
    EXPECT_TRUE(result);
    return static_cast<bool>(result);
  });
}

TYPED_TEST(activation, of_all_floats) {
  for_all_floats([](std::vector<float> const& floats) {
    thread_local std::vector<float> results;
    results.resize(floats.size());
    TypeParam::plain(floats, results);
    return are_activated<TypeParam>(floats, results);
  });
}

TYPED_TEST(activation, slopes_of_all_floats) {
  for_all_floats([](std::vector<float> const& floats) {
    thread_local std::vector<float> ones, slopes, values;
    ones.assign(floats.size(), 1);
    slopes.resize(floats.size());
    values.resize(floats.size());
    TypeParam::gated_backward(floats, ones, ones, slopes, values);
    return are_slopes<TypeParam>(floats, slopes, values);
  });
}

}  // namespace
