// SPDX-License-Identifier: Apache-2.0
// Philox4x32, the bits of an element, and the names of streams (A7).
#include "oracle/philox.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "support/support.hpp"

namespace {

using namespace lowp_test;
using words = std::array<std::uint32_t, 4>;

// kat_vectors of Random123 1.14.0: "philox4x32 10".
TEST(random, has_the_known_answers_of_random123) {
  constexpr std::uint32_t ones = 0xffffffff;
  static_assert(lowp::philox4x32({0, 0, 0, 0}, {0, 0}) ==
                words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  EXPECT_EQ(lowp::philox4x32({0, 0, 0, 0}, {0, 0}),
            (words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(lowp::philox4x32({ones, ones, ones, ones}, {ones, ones}),
            (words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      lowp::philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(random, agrees_with_the_oracle_everywhere) {
  std::mt19937 random(43);
  auto const word = [&] { return static_cast<std::uint32_t>(random()); };
  for (int i = 0; i < 100000; ++i) {
    words const counter{word(), word(), word(), word()};
    std::array<std::uint32_t, 2> const key{word(), word()};
    ASSERT_EQ(lowp::philox4x32(counter, key), oracle::philox4x32(counter, key));
  }
}

TEST(random, bits_of_an_element_are_a_function_of_seed_stream_index_and_draw) {
  std::mt19937_64 random(47);
  for (int i = 0; i < 20000; ++i) {
    std::uint64_t const seed = random();
    std::uint64_t const stream = random();
    std::uint64_t const index = random() >> (random() % 64);
    for (std::uint32_t const draw : {0U, 1U, 2U}) {
      for (oracle::generator const by : {oracle::generator::philox, oracle::generator::keyed}) {
        bool const is_keyed = by == oracle::generator::keyed;
        lowp::random_source const source{seed, stream, draw, is_keyed};
        ASSERT_EQ(source(index), oracle::random16(seed, stream, index, draw, by))
            << index << ' ' << draw << ' ' << is_keyed;
      }
    }
  }
}

// No two elements of a step share a place in the random stream, and nor do two draws.
TEST(random, elements_and_draws_do_not_share_bits) {
  std::set<words> blocks;
  for (std::uint32_t const draw : {0U, 1U, 2U}) {
    for (std::uint64_t const index : {std::uint64_t{0}, std::uint64_t{8}, ~std::uint64_t{0}}) {
      std::uint64_t const block = lowp::random_source{1, 2, draw}.counter(index);
      EXPECT_EQ(block >> 61, draw);
      EXPECT_EQ(block & (~std::uint64_t{0} >> 3), index / 8);
      blocks.insert(lowp::philox4x32(
          {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 2, 0},
          {1, 0}));
    }
  }
  EXPECT_EQ(blocks.size(), 9U);
}

TEST(random, stream_of_names_tensor_and_step) {
  static_assert(lowp::stream_of(1, 2) == 0x100000002);
  static_assert(lowp::stream_of(0xffffffff, 0) == 0xffffffff00000000);
  // A step past 2^32 uses the low half, and leaves the tensor alone.
  static_assert(lowp::stream_of(3, 0x700000005) == 0x300000005);
  std::mt19937_64 random(53);
  for (int i = 0; i < 1000; ++i) {
    auto const tensor = static_cast<std::uint32_t>(random());
    std::uint64_t const step = random();
    ASSERT_EQ(lowp::stream_of(tensor, step), oracle::stream_of(tensor, step));
  }
}

// The whole range of 16 bits, evenly: chi-square of 256 buckets, whose mean is 255.
TEST(random, bits_are_uniform) {
  for (bool const is_keyed : {false, true}) {
    lowp::random_source const source{12345, 678, 0, is_keyed};
    std::array<int, 256> buckets{};
    constexpr int draws = 1 << 18;
    for (std::uint64_t i = 0; i < draws; ++i) ++buckets[source(i) >> 8];
    double chi_square = 0;
    for (int const count : buckets) {
      double const expected = draws / 256.0;
      chi_square += (count - expected) * (count - expected) / expected;
    }
    EXPECT_GT(chi_square, 160) << is_keyed;
    EXPECT_LT(chi_square, 350) << is_keyed;
  }
}

// The proof that the draws of a group are uniform, and any three of them independent:
// tests/proof/README.md has the mathematics. `sum_of` undoes the bijection of a place.
class keyed_draws : public testing::Test {
 protected:
  using key = std::array<std::uint32_t, 4>;
  static constexpr std::uint32_t places = 128;
  static constexpr std::uint32_t values = 65536;

  static std::uint32_t draw(key const& k, std::uint32_t place) {
    std::uint32_t const block[] = {k[0], k[1], k[2], k[3]};
    return lowp::detail::draws_of_products(lowp::detail::keyed_product(block, place), 0);
  }
  // Every word of a key in turn is the only one, except for the last, which is in every sum.
  static key only(unsigned word, std::uint32_t value) {
    key k{};
    k[word / 2] = value << (word % 2 * 16);
    return k;
  }
  // The words that are in the sum of a place, as bits: the last one, and those of the place.
  static std::uint32_t row(std::uint32_t place) { return place | 128; }
  static unsigned rank(std::vector<std::uint32_t> rows) {
    unsigned rank = 0;
    for (std::uint32_t bit = 1; bit < 256; bit <<= 1) {
      auto const pivot =
          std::ranges::find_if(rows, [&](std::uint32_t r) { return (r & bit) != 0; });
      if (pivot == rows.end()) continue;
      std::uint32_t const removed = *pivot;
      rows.erase(pivot);
      for (std::uint32_t& r : rows) r ^= (r & bit) != 0 ? removed : 0;
      ++rank;
    }
    return rank;
  }
};

TEST_F(keyed_draws, are_bijections_of_the_sum_that_the_place_selects) {
  std::mt19937 random(59);
  std::vector<std::uint32_t> sum_of(values);
  for (std::uint32_t place = 0; place < places; ++place) {
    std::vector<bool> seen(values);
    for (std::uint32_t sum = 0; sum < values; ++sum) {
      std::uint32_t const r = draw(only(7, sum), place);
      ASSERT_TRUE(r < values && !seen[r]) << place << ' ' << sum;
      seen[r] = true;
      sum_of[r] = sum;
    }
    for (unsigned word = 0; word < 8; ++word)
      for (unsigned bit = 0; bit < 16; ++bit)
        ASSERT_EQ(sum_of[draw(only(word, 1U << bit), place)],
                  (row(place) >> word & 1) != 0 ? 1U << bit : 0U)
            << place << ' ' << word << ' ' << bit;
    for (int i = 0; i < 100; ++i) {  // the sums are linear in the key
      auto const word = [&] { return static_cast<std::uint32_t>(random()); };
      key const a{word(), word(), word(), word()};
      key const b{word(), word(), word(), word()};
      key const both{a[0] ^ b[0], a[1] ^ b[1], a[2] ^ b[2], a[3] ^ b[3]};
      ASSERT_EQ(sum_of[draw(both, place)], sum_of[draw(a, place)] ^ sum_of[draw(b, place)]);
    }
  }
}

TEST_F(keyed_draws, of_three_places_are_independent) {
  for (std::uint32_t a = 0; a < places; ++a)
    for (std::uint32_t b = 0; b < a; ++b) {
      ASSERT_EQ(rank({row(a), row(b)}), 2U);
      for (std::uint32_t c = 0; c < b; ++c) ASSERT_EQ(rank({row(a), row(b), row(c)}), 3U);
    }
}

// Three draws give the fourth one.
TEST_F(keyed_draws, of_four_places_may_depend_on_each_other) {
  EXPECT_EQ(rank({row(0), row(1), row(2), row(3)}), 3U);
  EXPECT_EQ(rank({row(0), row(1), row(2), row(4)}), 4U);
  EXPECT_EQ(rank({row(9), row(9)}), 1U);
}

// Sums of the errors of 10^6 roundings, as deviates: their mean, and the sum of their squares, are
// those of independent draws. Equal draws in each group would make the variance 128 times as large.
template <class Rounding>
void expect_sums_of_independent_errors() {
  constexpr std::size_t roundings = 1000000;
  constexpr int sums = 12;
  std::vector<float> x(roundings);
  std::vector<lowp::bfloat16> rounded(roundings);
  double mean = 0;
  double squares = 0;
  constexpr std::array fractions{1.0 / 256, 0.25, 0.5, 0.875};
  constexpr double deviates = sums * double{fractions.size()};
  for (double const fraction : fractions) {
    auto const up = static_cast<float>(1 + 0x1p-7);
    std::ranges::fill(x, static_cast<float>(1 + fraction * 0x1p-7));
    for (std::uint64_t step = 0; step < sums; ++step) {
      lowp::cast(x, rounded, Rounding{.seed = 11, .stream = lowp::stream_of(3, step)});
      auto const ups = static_cast<double>(std::ranges::count(rounded, lowp::bfloat16(up)));
      double const deviate =
          (ups - roundings * fraction) / std::sqrt(roundings * fraction * (1 - fraction));
      mean += deviate / deviates;
      squares += deviate * deviate;
    }
  }
  EXPECT_LT(std::fabs(mean) * std::sqrt(deviates), 4);
  EXPECT_LT(std::fabs(squares - deviates) / std::sqrt(2 * deviates), 4);
}
TEST(random, sums_of_rounding_errors_have_the_mean_and_the_variance_of_independent_draws) {
  expect_sums_of_independent_errors<lowp::stochastic>();
  expect_sums_of_independent_errors<lowp::stochastic_fast>();
}

// The rest of a span of more than 2^32 elements is counted in 64 bits, and wraps there.
TEST(random, goes_on_after_any_number_of_elements) {
  constexpr std::uint64_t far = (std::uint64_t{1} << 32) + 3;
  constexpr lowp::stochastic mode{.seed = 5, .stream = 6, .offset = 7};
  static_assert(mode.after(far).offset == far + 7);
  static_assert(mode.after(far).seed == 5 && mode.after(far).stream == 6);
  static_assert(mode.after(~std::uint64_t{0}).offset == 6);
  lowp::simd::operand<lowp::bfloat16, lowp::simd::access::write, lowp::stochastic> const all{
      nullptr, mode, lowp::overflow::infinity};
  auto const rest = all.after(far);
  EXPECT_EQ(rest.rounding.offset, far + 7);
  for (std::uint64_t const count : {far, far * 8, ~std::uint64_t{0}}) {
    lowp::float8_e4m3fn const got = lowp::convert<lowp::float8_e4m3fn>(1.03f, mode.after(count));
    auto const r = static_cast<std::uint16_t>(oracle::random16(5, 6, 7 + count, 0));
    EXPECT_EQ(got.bits(),
              lowp::convert<lowp::float8_e4m3fn>(1.03f, lowp::stochastic_bits{r}).bits());
  }
}

}  // namespace
