// SPDX-License-Identifier: Apache-2.0
// Stochastic rounding, by trying all 65536 draws, and its spans by the bits of each element.
#include <algorithm>
#include <cmath>
#include <span>

#include "oracle/philox.hpp"
#include "support/support.hpp"

namespace {

using namespace lowp_test;

// Fractions of a gap in 2^-20: exact, around what 2^-16 rounds up from, ties, nearly one.
constexpr int fraction_bits = 20;
constexpr std::array<std::uint32_t, 17> fractions{
    0,       1,       7,       8,       9,       23,      24,      0x12345, 0x40000,
    0x7fff7, 0x7fff8, 0x80000, 0x80008, 0xa5a5a, 0xffff7, 0xffff8, 0xfffff};

// f is rounded to a multiple of 2^-16, half up; that many draws of 65536 go away from zero (A6).
constexpr std::uint32_t draws_away(std::uint32_t fraction) { return (fraction + 8) >> 4; }
static_assert(draws_away(7) == 0 && draws_away(8) == 1 && draws_away(0xffff8) == 65536);

// Codes whose upper neighbour is one binade up; zero, subnormal, the first normal; and the last
// finite code, beyond which the grid continues.
template <class T>
std::vector<std::uint32_t> lower_codes() {
  auto const top = static_cast<std::uint32_t>(facts<T>.max_code());
  std::uint32_t const normal = 1U << facts<T>.significand_bits;
  return {0, 1, normal - 1, normal, 2 * normal - 1, top / 2, top - 1, top};
}

template <class T, class X>
testing::AssertionResult moves_as_often(X x, std::uint32_t lower, std::uint32_t away_draws) {
  auto const encode = [](oracle::number const& exact, oracle::mode m) {
    return oracle::encode(facts<T>, exact, m, oracle::policy::infinity);
  };
  oracle::number const exact = oracle::from(x);
  std::uint32_t const toward = encode(exact, oracle::mode::toward_zero);
  // The neighbour beyond, not merely "upward": that is the same code if x is exact.
  oracle::number beyond = oracle::magnitude_value(facts<T>, lower + 1);
  beyond.negative = exact.negative;
  std::uint32_t const away = encode(beyond, oracle::mode::nearest_even);
  for (std::uint32_t r = 0; r < 65536; ++r) {
    lowp::stochastic_bits const rounding{static_cast<std::uint16_t>(r)};
    T const got = lowp::convert<T>(x, rounding, lowp::overflow::infinity);
    bool const moves = r >= 65536 - away_draws;
    if (got.bits() == (moves ? away : toward)) continue;
    return has_bits(got, moves ? away : toward, x, "with the bits", r);
  }
  return testing::AssertionSuccess();
}

// Rounds by packs. Subnormals are rounded in steps of 2^-17 of the smallest: half up makes this
// fraction just enough for its random bits, and not the one below it.
template <class T>
void expect_half_up_of_subnormals() {
  if (!facts<T>.has_zero() || facts<T>.min_subnormal < 0x1p-130) return;  // no floats between them
  constexpr std::size_t size = 4099;
  std::vector<float> x(size);
  std::vector<T> got(size);
  for (int const lower : {0, 1, 2, 5}) {
    for (int const less : {0, 1, 2}) {
      for (std::size_t i = 0; i < size; ++i) {
        int const steps = 2 * (65536 - static_cast<int>(oracle::random16(8, 9, i, 0))) - 1 - less;
        x[i] = std::ldexp(static_cast<float>(lower * 131072 + steps),
                          std::ilogb(facts<T>.min_subnormal) - 17);
      }
      lowp::cast(x, got, lowp::stochastic{.seed = 8, .stream = 9});
      for (std::size_t i = 0; i < size; ++i) {
        std::uint32_t const want =
            oracle::encode(facts<T>, oracle::from(x[i]), oracle::mode::stochastic,
                           oracle::policy::infinity, oracle::random16(8, 9, i, 0));
        ASSERT_TRUE(has_bits(got[i], want, x[i], "element", i));
      }
    }
  }
}

template <class T>
class stochastic : public testing::Test {};
TYPED_TEST_SUITE(stochastic, kernel_formats, by_format);

TYPED_TEST(stochastic, rounds_the_fraction_half_up_in_packs) {
  expect_half_up_of_subnormals<TypeParam>();
}

TYPED_TEST(stochastic, moves_as_many_draws_as_the_fraction_says) {
  using T = TypeParam;
  for (std::uint32_t const lower : lower_codes<T>()) {
    double const low = std::bit_cast<double>(
        oracle::encode_wide(oracle::binary64, oracle::magnitude_value(facts<T>, lower),
                            oracle::mode::nearest_even, oracle::policy::infinity));
    oracle::number const next = oracle::magnitude_value(facts<T>, lower + 1);
    double const gap = std::ldexp(static_cast<double>(next.significand), next.exponent) - low;
    for (std::uint32_t const fraction : fractions) {
      double const size = low + std::ldexp(gap * fraction, -fraction_bits);
      for (double const x : {size, -size}) {
        if (x < 0 && !facts<T>.is_signed) continue;
        ASSERT_TRUE(moves_as_often<T>(x, lower, draws_away(fraction)));
        auto const single = static_cast<float>(x);
        if (single != x) continue;
        ASSERT_TRUE(moves_as_often<T>(single, lower, draws_away(fraction)));
      }
    }
    // Far too small a part to be drawn, and far too small a part missing.
    ASSERT_TRUE(moves_as_often<T>(low + std::ldexp(gap, -44), lower, 0));
    ASSERT_TRUE(moves_as_often<T>(low + gap - std::ldexp(gap, -44), lower, 65536));
  }
}

TYPED_TEST(stochastic, never_moves_special_values) {
  using T = TypeParam;
  std::vector<float> specials{0.0f, -0.0f, HUGE_VALF, -HUGE_VALF};
  for (std::uint32_t const nan : {0x7f800001U, 0x7fc00000U, 0x7fffffffU}) {
    specials.push_back(float_of(nan));
    specials.push_back(float_of(nan | 0x80000000U));
  }
  for (named_policy const& policy : policies) {
    for (float const x : specials) {
      std::uint32_t const expected =
          oracle::encode(facts<T>, oracle::from(x), oracle::mode::toward_zero, policy.policy);
      for (std::uint32_t r = 0; r < 65536; ++r) {
        lowp::stochastic_bits const rounding{static_cast<std::uint16_t>(r)};
        ASSERT_TRUE(has_bits(lowp::convert<T>(x, rounding, policy.overflow), expected, x, r));
        ASSERT_TRUE(
            has_bits(lowp::convert<T>(double{x}, rounding, policy.overflow), expected, x, r));
      }
    }
  }
}

std::vector<float> mixed_floats(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> floats(size);
  for (float& x : floats) {
    auto const bits = static_cast<std::uint32_t>(random());
    // Half of them lie among the values of the narrow formats.
    x = float_of(random() % 2 == 0 ? bits : (bits & 0x87ffffffU) | 0x38000000U);
  }
  return floats;
}

lowp::stochastic const rounds[]{
    {.seed = 0},
    {.seed = 0x0123456789abcdef, .stream = 0xfedcba9876543210, .offset = 1},
    {.seed = ~std::uint64_t{0}, .stream = lowp::stream_of(7, 9), .offset = 7},
    {.seed = 5, .stream = 1, .offset = 8},
    // The low word of the block number carries, and the index wraps.
    {.seed = 6, .stream = std::uint64_t{1} << 32, .offset = (std::uint64_t{1} << 35) - 203},
    {.seed = 7, .stream = 2, .offset = std::uint64_t{0} - 101}};

TYPED_TEST(stochastic, span_takes_the_bits_of_each_element) {
  using T = TypeParam;
  std::vector<float> const floats = mixed_floats(517, 31);
  for (lowp::stochastic const& rounding : rounds) {
    std::vector<T> results(floats.size());
    lowp::cast(floats, results, rounding);
    for (std::size_t i = 0; i < floats.size(); ++i) {
      std::uint64_t const index = rounding.offset + i;
      std::uint32_t const r = oracle::random16(rounding.seed, rounding.stream, index, 0);
      std::uint32_t const expected =
          oracle::encode(facts<T>, oracle::from(floats[i]), oracle::mode::stochastic,
                         oracle::default_policy(facts<T>), r);
      ASSERT_TRUE(has_bits(results[i], expected, floats[i], "with the bits", r, "of", index));
      lowp::stochastic const alone{rounding.seed, rounding.stream, index};
      ASSERT_TRUE(has_bits(lowp::convert<T>(floats[i], alone), expected, floats[i], index));
    }
  }
}

TYPED_TEST(stochastic, any_split_of_a_span_gives_the_bits_of_the_whole) {
  using T = TypeParam;
  std::vector<float> const floats = mixed_floats(301, 37);
  std::mt19937_64 random(41);
  for (lowp::stochastic const& rounding : rounds) {
    std::vector<T> whole(floats.size());
    lowp::cast(floats, whole, rounding);
    for (int split = 0; split < 30; ++split) {
      std::vector<T> parts(floats.size());
      for (std::size_t first = 0; first < floats.size();) {
        std::size_t const count = std::min(floats.size() - first, random() % 64);
        lowp::stochastic shard = rounding;
        shard.offset += first;
        lowp::cast(std::span(floats).subspan(first, count), std::span(parts).subspan(first, count),
                   shard);
        first += count;
      }
      for (std::size_t i = 0; i < whole.size(); ++i) {
        ASSERT_TRUE(has_bits(parts[i], whole[i].bits(), floats[i], "element", i));
      }
    }
  }
}

TYPED_TEST(stochastic, to_float_is_the_identity) {
  using T = TypeParam;
  std::vector<T> narrow;
  for (std::uint32_t code = 0; code < code_count<T>; ++code) narrow.push_back(of_code<T>(code));
  std::vector<float> wide(narrow.size());
  lowp::cast(narrow, wide, lowp::stochastic{.seed = 3});
  for (std::size_t i = 0; i < wide.size(); ++i) {
    std::uint32_t const expected = lowp_test::float_bits(static_cast<float>(narrow[i]));
    ASSERT_TRUE(has_bits(wide[i], expected, narrow[i]));
    ASSERT_TRUE(has_bits(lowp::convert<float>(narrow[i], lowp::stochastic_bits{65535}), expected));
  }
}

}  // namespace
