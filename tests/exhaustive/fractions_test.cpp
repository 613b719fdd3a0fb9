// SPDX-License-Identifier: Apache-2.0
// A6 by counting: a value that lies k/65536 of a gap above its neighbour moves in k of 65536 draws.
#include <cmath>

#include "support/all_floats.hpp"

namespace {

using namespace lowp_test;

template <class T>
class fractions : public testing::Test {};
TYPED_TEST_SUITE(fractions, all_formats, by_format);

// A gap of the format, from the code `lower` to the next.
template <class T>
struct gap {
  std::uint32_t lower;
  double low = value_of(facts<T>, lower);
  double size = value_of(facts<T>, lower + 1) - low;

  // `fraction` is in units of 2^-20 of the gap.
  T rounded(std::uint32_t fraction, std::uint32_t draw) const {
    return lowp::convert<T>(low + std::ldexp(size * fraction, -20),
                            lowp::stochastic_bits{static_cast<std::uint16_t>(draw)});
  }
  bool moves(std::uint32_t fraction, std::uint32_t draw) const {
    return rounded(fraction, draw).bits() == lower + 1;
  }
  bool stays(std::uint32_t fraction, std::uint32_t draw) const {
    return rounded(fraction, draw).bits() == lower;
  }
};

template <class T>
gap<T> above_one() {
  return {static_cast<std::uint32_t>(T(1).bits())};
}

// Every fraction with every draw: 2^32 conversions.
TYPED_TEST(fractions, move_in_as_many_draws_of_all) {
  using T = TypeParam;
  gap<T> const g = above_one<T>();
  in_parallel(65536, [&](std::size_t k) {
    auto const fraction = static_cast<std::uint32_t>(k);
    double const x = g.low + std::ldexp(g.size * fraction, -16);
    std::uint32_t wrong = 0;
    for (std::uint32_t r = 0; r < 65536; ++r) {
      T const y = lowp::convert<T>(x, lowp::stochastic_bits{static_cast<std::uint16_t>(r)});
      wrong += y.bits() != g.lower + (fraction + r >= 65536);
    }
    EXPECT_EQ(wrong, 0U) << "draws of the fraction " << k;
    return wrong == 0;
  });
}

// Every fraction in steps of 2^-20, at the two draws between which the answer changes.
TYPED_TEST(fractions, are_rounded_half_up_first) {
  using T = TypeParam;
  std::vector<gap<T>> gaps{above_one<T>()};
  if (facts<T>.has_zero()) {
    gaps.push_back({0});
    if (facts<T>.significand_bits > 1) gaps.push_back({1});  // between subnormals
  }
  for (gap<T> const& g : gaps) {
    for (std::uint32_t fraction = 0; fraction < 1U << 20; ++fraction) {
      std::uint32_t const away = (fraction + 8) >> 4;
      if (away > 0) {
        ASSERT_TRUE(g.moves(fraction, 65536 - away)) << fraction << " above " << g.lower;
      }
      if (away < 65536) {
        ASSERT_TRUE(g.stays(fraction, 65535 - away)) << fraction << " above " << g.lower;
      }
    }
  }
}

}  // namespace
