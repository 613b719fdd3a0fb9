// SPDX-License-Identifier: Apache-2.0
// The histogram of exponents on every backend, against counting one after the other. The first
// numbers suggest a range for the others; the others may lie anywhere, be any number, and come in
// any order.
#include <gtest/gtest.h>
#include <lowp/measure/census/exponent_tally.hpp>
#include <lowp/measure/census/magnitude_range.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "support.hpp"

namespace {

using namespace lowp_test;

struct counts_and_sum {
  std::array<std::uint64_t, 256> counts{};
  std::uint32_t sum = 0;  // of what was handed over, modulo 2^32
};

template <class U>
struct summing {
  U sum = lowp::lanes::broadcast<U>(0);
  LOWP_FN void operator()(const U& a) { sum = sum + a; }
};

// Whole groups, of which every `period`-th is visited.
struct tally_kernel {
  const std::uint32_t* magnitudes;
  std::size_t size;
  std::size_t period;
  counts_and_sum* out;

  template <class Isa>
  LOWP_HOST_FN void body() const {
    using registers = typename Isa::registers;
    using U = lowp::simd::word<registers>;
    using tally = lowp::simd::exponent_tally<registers>;
    using group = typename tally::group;
    constexpr std::size_t group_size = sizeof(group) / sizeof(std::uint32_t);
    typename tally::scratch scratch;
    tally exponents(scratch, out->counts.data());
    summing<U> visit;
    for (std::size_t i = 0; i < size; i += group_size) {
      const auto& some = *reinterpret_cast<const group*>(magnitudes + i);
      lowp::detail::magnitude_range<U> range;
      for (std::size_t k = 0; k < group_size; k += Isa::lanes) range.add(U::load(some + k));
      if (i / group_size % period == 0) exponents.add(some, range, visit);
      exponents.add_rest(some, range);
      if (exponents.is_full() || i + group_size == size) exponents.count();
    }
    for (int i = 0; i < Isa::lanes; ++i) out->sum += lowp::lane<U>::at(visit.sum, i);
  }
};

constexpr std::size_t most_in_group = std::size_t{32} * 16;  // of any backend: a multiple of each

template <class Isa>
void expect_counted(const std::vector<std::uint32_t>& magnitudes, std::size_t period) {
  constexpr std::size_t group_size = std::size_t{32} * Isa::lanes;
  counts_and_sum want;
  for (std::size_t i = 0; i < magnitudes.size(); ++i) {
    const std::uint32_t field = magnitudes[i] >> 23;
    if (field != 0 && field != 255) ++want.counts[field];
    if (i / group_size % period == 0) want.sum += magnitudes[i];
  }
  counts_and_sum got;
  Isa::enter(tally_kernel{magnitudes.data(), magnitudes.size(), period, &got});
  EXPECT_EQ(got.counts, want.counts);
  EXPECT_EQ(got.sum, want.sum);
}

// Exponent fields from `least` to `most`, both among them.
std::vector<std::uint32_t> some_of(std::size_t size, std::uint32_t least, std::uint32_t most) {
  std::mt19937 random(least * 256 + most);
  std::vector<std::uint32_t> magnitudes(size);
  for (std::uint32_t& each : magnitudes)
    each = (least + static_cast<std::uint32_t>(random() % (most - least + 1))) << 23 |
           static_cast<std::uint32_t>(random() & 0x7fffffU);
  return magnitudes;
}

template <class Isa>
class exponent_tally : public on_backend<Isa> {};
TYPED_TEST_SUITE(exponent_tally, backends, by_backend);

TYPED_TEST(exponent_tally, of_any_range) {
  for (const std::uint32_t width : {1U, 2U, 30U, 31U, 32U, 62U, 63U, 128U, 256U})
    for (std::uint32_t least = 0; least + width <= 256; least += width < 256 ? 7 : 1) {
      expect_counted<TypeParam>(some_of(3 * most_in_group, least, least + width - 1), 2);
      ASSERT_FALSE(testing::Test::HasFailure()) << width << " from " << least;
    }
}

TYPED_TEST(exponent_tally, of_numbers_unlike_the_first) {
  for (const std::uint32_t first : {0U, 1U, 5U, 100U, 127U, 200U, 254U, 255U})
    for (const std::uint32_t then : {0U, 1U, 60U, 127U, 220U, 254U, 255U}) {
      std::vector<std::uint32_t> magnitudes = some_of(most_in_group, first, first);
      for (const std::uint32_t each : some_of(2 * most_in_group, then, then))
        magnitudes.push_back(each);
      for (std::size_t i = 0; i < magnitudes.size(); i += 5) magnitudes[i] = 0;
      expect_counted<TypeParam>(magnitudes, 1);
      expect_counted<TypeParam>(magnitudes, 3);
      ASSERT_FALSE(testing::Test::HasFailure()) << first << ", then " << then;
    }
}

// More groups than its digits hold.
TYPED_TEST(exponent_tally, of_very_many) {
  expect_counted<TypeParam>(some_of(1030 * most_in_group, 120, 122), 1);
  expect_counted<TypeParam>(std::vector<std::uint32_t>(1030 * most_in_group, 0x3f800000U), 1);
}

}  // namespace
