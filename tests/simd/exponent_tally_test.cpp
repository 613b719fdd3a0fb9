// SPDX-License-Identifier: Apache-2.0
// The histogram of exponents on every backend, against counting one after the other. The first
// numbers suggest a range for the others; the others may lie anywhere, be any number, and come in
// any order.
#include <gtest/gtest.h>
#include <lowp/measure/census/census_report.hpp>
#include <lowp/measure/census/exponent_tally.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "support.hpp"

namespace {

using namespace lowp_test;

using counts = std::array<std::uint64_t, 256>;

// Whole groups.
struct tally_kernel {
  std::uint32_t const* magnitudes;
  std::size_t size;
  counts* out;

  template <class Isa>
  LOWP_HOST_FN void body() const {
    using registers = typename Isa::registers;
    using U = lowp::simd::word<registers>;
    using tally = lowp::simd::exponent_tally<registers>;
    typename tally::scratch scratch;
    tally exponents(scratch, out->data());
    for (std::size_t i = 0; i < size; i += tally::size) {
      lowp::detail::magnitude_range<U> range;
      for (std::size_t k = 0; k < tally::size; k += Isa::lanes)
        range.add(U::load(magnitudes + i + k));
      exponents.add(magnitudes + i, range);
    }
    exponents.count();
  }
};

constexpr std::size_t in_group = 256;

template <class Isa>
void expect_counted(std::vector<std::uint32_t> const& magnitudes) {
  counts want{};
  for (std::uint32_t const each : magnitudes) {
    std::uint32_t const field = each >> 23;
    if (field != 0 && field != 255) ++want[field];
  }
  counts got{};
  Isa::enter(tally_kernel{magnitudes.data(), magnitudes.size(), &got});
  EXPECT_EQ(got, want);
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
  for (std::uint32_t const width : {1U, 2U, 30U, 31U, 32U, 62U, 63U, 128U, 256U})
    for (std::uint32_t least = 0; least + width <= 256; least += width < 256 ? 7 : 1) {
      expect_counted<TypeParam>(some_of(3 * in_group, least, least + width - 1));
      ASSERT_FALSE(testing::Test::HasFailure()) << width << " from " << least;
    }
}

TYPED_TEST(exponent_tally, of_numbers_unlike_the_first) {
  for (std::uint32_t const first : {0U, 1U, 5U, 100U, 127U, 200U, 254U, 255U})
    for (std::uint32_t const then : {0U, 1U, 60U, 127U, 220U, 254U, 255U}) {
      std::vector<std::uint32_t> magnitudes = some_of(in_group, first, first);
      for (std::uint32_t const each : some_of(2 * in_group, then, then)) magnitudes.push_back(each);
      for (std::size_t i = 0; i < magnitudes.size(); i += 5) magnitudes[i] = 0;
      expect_counted<TypeParam>(magnitudes);
      ASSERT_FALSE(testing::Test::HasFailure()) << first << ", then " << then;
    }
}

// More groups than its digits hold.
TYPED_TEST(exponent_tally, of_very_many) {
  expect_counted<TypeParam>(some_of(1030 * in_group, 120, 122));
  expect_counted<TypeParam>(std::vector<std::uint32_t>(1030 * in_group, 0x3f800000U));
}

}  // namespace
