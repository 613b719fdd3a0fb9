// SPDX-License-Identifier: Apache-2.0
// The line of facts is all that the tests need of a new format.
#include "support/formats.hpp"
using namespace lowp_test;
static_assert(facts<lowp::float8_e3m4fn>.max_finite == 30);
template <class... T>
constexpr bool has_it(testing::Types<T...>) {
  return (std::is_same_v<T, lowp::float8_e3m4fn> || ...);
}
static_assert(has_it(all_formats()) && has_it(byte_formats()) && !has_it(wide_formats()));
static_assert(oracle::all.size() == 15);
