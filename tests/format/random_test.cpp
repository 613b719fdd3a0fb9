// SPDX-License-Identifier: Apache-2.0
// Philox4x32, the bits of an element, and the names of streams (A7).
#include "oracle/philox.hpp"

#include <set>

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

// The same file: "philox4x32 7".
TEST(random, has_the_known_answers_of_seven_rounds) {
  constexpr std::uint32_t ones = 0xffffffff;
  const auto seven = [](words counter, std::uint32_t key0, std::uint32_t key1) {
    std::uint32_t word[] = {counter[0], counter[1], counter[2], counter[3]};
    lowp::philox4x32(word, lowp::philox_keys(key0, key1), 7);
    return words{word[0], word[1], word[2], word[3]};
  };
  EXPECT_EQ(seven({0, 0, 0, 0}, 0, 0), (words{0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48}));
  EXPECT_EQ(seven({ones, ones, ones, ones}, ones, ones),
            (words{0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662}));
  EXPECT_EQ(seven({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0),
            (words{0x4dfccaba, 0x190a87f0, 0xc47362ba, 0xb6b5242a}));
}

TEST(random, agrees_with_the_oracle_everywhere) {
  std::mt19937 random(43);
  const auto word = [&] { return static_cast<std::uint32_t>(random()); };
  for (int i = 0; i < 100000; ++i) {
    const words counter{word(), word(), word(), word()};
    const std::array<std::uint32_t, 2> key{word(), word()};
    ASSERT_EQ(lowp::philox4x32(counter, key), oracle::philox4x32(counter, key));
  }
}

TEST(random, bits_of_an_element_are_a_function_of_seed_stream_index_and_draw) {
  std::mt19937_64 random(47);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t seed = random();
    const std::uint64_t stream = random();
    const std::uint64_t index = random() >> (random() % 64);
    for (const std::uint32_t draw : {0U, 1U, 2U}) {
      for (const int rounds : {7, 10}) {
        const lowp::random_source source{seed, stream, draw, rounds};
        ASSERT_EQ(source(index), oracle::random16(seed, stream, index, draw, rounds))
            << index << ' ' << draw << ' ' << rounds;
      }
    }
  }
}

// No two elements of a step share a place in the random stream, and nor do two draws.
TEST(random, elements_and_draws_do_not_share_bits) {
  std::set<words> blocks;
  for (const std::uint32_t draw : {0U, 1U, 2U}) {
    for (const std::uint64_t index : {std::uint64_t{0}, std::uint64_t{8}, ~std::uint64_t{0}}) {
      const std::uint64_t block = lowp::random_source{1, 2, draw}.counter(index);
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
    const auto tensor = static_cast<std::uint32_t>(random());
    const std::uint64_t step = random();
    ASSERT_EQ(lowp::stream_of(tensor, step), oracle::stream_of(tensor, step));
  }
}

// The whole range of 16 bits, evenly: chi-square of 256 buckets, whose mean is 255.
TEST(random, bits_are_uniform) {
  for (const int rounds : {7, 10}) {
    const lowp::random_source source{12345, 678, 0, rounds};
    std::array<int, 256> buckets{};
    constexpr int draws = 1 << 18;
    for (std::uint64_t i = 0; i < draws; ++i) ++buckets[source(i) >> 8];
    double chi_square = 0;
    for (const int count : buckets) {
      const double expected = draws / 256.0;
      chi_square += (count - expected) * (count - expected) / expected;
    }
    EXPECT_GT(chi_square, 160) << rounds;
    EXPECT_LT(chi_square, 350) << rounds;
  }
}

// The rest of a span of more than 2^32 elements is counted in 64 bits, and wraps there.
TEST(random, goes_on_after_any_number_of_elements) {
  constexpr std::uint64_t far = (std::uint64_t{1} << 32) + 3;
  constexpr lowp::stochastic mode{.seed = 5, .stream = 6, .offset = 7};
  static_assert(mode.after(far).offset == far + 7);
  static_assert(mode.after(far).seed == 5 && mode.after(far).stream == 6);
  static_assert(mode.after(~std::uint64_t{0}).offset == 6);
  const lowp::simd::operand<lowp::bfloat16, lowp::simd::access::write, lowp::stochastic> all{
      nullptr, mode, lowp::overflow::infinity};
  const auto rest = all.after(far);
  EXPECT_EQ(rest.rounding.offset, far + 7);
  for (const std::uint64_t count : {far, far * 8, ~std::uint64_t{0}}) {
    const lowp::float8_e4m3fn got = lowp::convert<lowp::float8_e4m3fn>(1.03F, mode.after(count));
    const auto r = static_cast<std::uint16_t>(oracle::random16(5, 6, 7 + count, 0));
    EXPECT_EQ(got.bits(),
              lowp::convert<lowp::float8_e4m3fn>(1.03F, lowp::stochastic_bits{r}).bits());
  }
}

}  // namespace
