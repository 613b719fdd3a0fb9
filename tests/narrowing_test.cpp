// SPDX-License-Identifier: Apache-2.0
// binary64 to binary32 in lanes that are scalars: the way of a cast of double in every format and mode.
#include "cast_numbers.hpp"

namespace {

using namespace lowp_test;

// Rounding to odd on the way changes no result of any format in any mode; these lanes are scalars.
template <class T>
void check_by_way_of_odd(const std::vector<double>& in) {
  for (const double x : in) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const float odd = float_of(lowp::detail::binary64_to_binary32(
        static_cast<std::uint32_t>(bits >> 32), static_cast<std::uint32_t>(bits), lowp::to_odd{},
        lowp::overflow::infinity));
    for_each_mode([&](const auto& m) {
      ASSERT_TRUE(has_bits(
          lowp::convert<T>(odd, m.rounding),
          oracle::encode(facts<T>, oracle::from(x), m.mode, oracle::default_policy(facts<T>)), x,
          odd, m.name));
    });
  }
}
TEST(narrowing, may_go_by_way_of_a_float_rounded_to_odd) {
  types_of<every_format>::for_each([](auto type) {
    using T = typename decltype(type)::type;
    check_by_way_of_odd<T>(doubles_around(facts<T>, 2));
  });
}

}  // namespace
