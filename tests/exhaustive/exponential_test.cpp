// SPDX-License-Identifier: Apache-2.0
// exp of all 2^32 floats and log of all that are normal and positive: the bound, and the same bits
// on every backend.
#include "support/exponentials.hpp"

#include <numeric>

#include "support/all_floats.hpp"

namespace {

using namespace lowp_test;

template <class Operation>
void check_all() {
  constexpr std::size_t chunk = std::size_t{1} << 16;
  in_parallel((std::size_t{1} << 32) / chunk, [](std::size_t i) {
    std::vector<std::uint32_t> patterns(chunk);
    std::iota(patterns.begin(), patterns.end(), static_cast<std::uint32_t>(i * chunk));
    auto const result = is_close_everywhere<Operation>(std::move(patterns));
    EXPECT_TRUE(result);
    return static_cast<bool>(result);
  });
}

TEST(exponential_of_all_floats, exp) { check_all<exp_operation>(); }
TEST(exponential_of_all_floats, exp_of_minus) { check_all<exp_of_minus_operation>(); }
TEST(exponential_of_all_floats, log) { check_all<log_operation>(); }

}  // namespace
