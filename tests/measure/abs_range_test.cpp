// SPDX-License-Identifier: Apache-2.0
// abs_range_of against the oracle: all codes, the borders of overflow, any number and place.
#include "support/abs_range_expectations.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/boundaries.hpp"

namespace {

using namespace lowp_test;

template <lowp::element To, lowp::element From>
void expect_oracle(tensor const& in, std::size_t lead = 0) {
  guarded<From> x(in, lead);
  expect(lowp::abs_range_of<To>(x.span()), expected_abs_range<To>(in));
  EXPECT_TRUE(x.holds(in, "in"));
}

tensor floats(std::vector<std::uint32_t> bits) { return {oracle::binary32, std::move(bits)}; }

template <lowp::narrow To>
void expect_boundaries() {
  for (sample const& s :
       boundaries(facts<To>, oracle::mode::nearest_even, oracle::policy::infinity)) {
    // Beside something smaller, and alone.
    expect_oracle<To, float>(floats({0x00000001U, float_bits(s.x), 0x80000000U}));
    expect_oracle<To, float>(floats({float_bits(s.x)}));
    ASSERT_FALSE(testing::Test::HasFailure()) << shown(s.x);
  }
}

TEST(abs_range, at_boundaries) {
  expect_boundaries<lowp::float8_e4m3fn>();
  expect_boundaries<lowp::float8_e5m2>();
  expect_boundaries<lowp::float4_e2m1fn>();
}

// The last float that does not overflow and the first that does, of both signs.
TEST(abs_range, of_the_ends_of_float16_and_bfloat16) {
  for (std::uint32_t const bits : {0x477fefffU, 0x477ff000U, 0xc77fefffU, 0xc77ff000U, 0x7f7f7fffU,
                                   0x7f7f8000U, 0x7f7fffffU, 0x7f800000U, 0x7f800001U}) {
    expect_oracle<lowp::float16, float>(floats({bits}));
    expect_oracle<lowp::bfloat16, float>(floats({bits}));
    expect_oracle<float, float>(floats({bits}));
  }
}

template <lowp::narrow From, lowp::element To>
void expect_every_code() {
  std::vector<std::uint32_t> codes(code_count<From>);
  std::iota(codes.begin(), codes.end(), 0U);
  expect_oracle<To, From>({facts<From>, codes});
  for (std::size_t first = 0; first < codes.size(); first += 61)
    for (std::size_t const size : {std::size_t{1}, std::size_t{3}, std::size_t{40}})
      expect_oracle<To, From>(
          {facts<From>,
           {codes.begin() + static_cast<std::ptrdiff_t>(first),
            codes.begin() + static_cast<std::ptrdiff_t>(std::min(first + size, codes.size()))}});
}

TEST(abs_range, of_every_code) {
  expect_every_code<lowp::bfloat16, lowp::float16>();
  expect_every_code<lowp::float16, lowp::float8_e4m3fn>();
  expect_every_code<lowp::float8_e5m2, lowp::float8_e4m3fn>();
  expect_every_code<lowp::float8_e4m3fn, float>();
}

// The padding of the last register is not seen, whatever the smallest magnitude is.
TEST(abs_range, of_any_size_and_alignment) {
  for (std::size_t size = 0; size <= 300; ++size) {
    expect_oracle<lowp::float16, float>(floats(std::vector<std::uint32_t>(size, 0x47000000U)),
                                        size % 5);
    expect_oracle<lowp::float16, float>(random_tensor<float>(size, size, values::corners), 1);
    expect_oracle<lowp::float16, lowp::bfloat16>(
        random_tensor<lowp::bfloat16>(size, size, values::training, 3e4), size % 3);
  }
  for (std::size_t const size : {4095U, 4096U, 40001U})
    expect_oracle<lowp::float16, float>(random_tensor<float>(size, size, values::corners), 3);
}

TEST(abs_range, sees_each_element_once) {
  for (std::uint32_t const bits : {0x7fc00000U, 0xff800000U, 0x47800000U, 0x00000000U}) {
    for (std::size_t at = 0; at < 300; ++at) {
      std::vector<std::uint32_t> x(300, 0x3f800000U);
      x[at] = bits;
      expect_oracle<lowp::float16, float>(floats(x));
      ASSERT_FALSE(testing::Test::HasFailure()) << at;
    }
  }
}

TEST(abs_range, of_nothing_and_of_nothing_but_nan) {
  lowp::abs_range const none = lowp::abs_range_of(std::vector<float>{});
  EXPECT_EQ(none.count, 0U);
  EXPECT_EQ(none.max_abs.bits, 0U);
  EXPECT_EQ(float_bits(none.min_abs.value()), 0x7f800000U);
  EXPECT_TRUE(none.is_sound());
  expect_oracle<lowp::float16, float>(floats(std::vector<std::uint32_t>(77, 0xffc00001U)));
  expect_oracle<lowp::float16, float>(floats(std::vector<std::uint32_t>(77, 0x7f800000U)));
}

TEST(abs_range, of_shards_is_that_of_the_whole) {
  tensor const in = random_tensor<float>(1000, 7, values::corners);
  guarded<float> x(in, 0);
  lowp::abs_range merged;
  for (std::size_t first = 1000; first != 0; first -= 50)
    merged += lowp::abs_range_of<lowp::float16>(x.span().subspan(first - 50, 50));
  expect(merged, expected_abs_range<lowp::float16>(in));
}

TEST(abs_range, of_values_that_are_kept_scaled) {
  std::vector<lowp::float8_e4m3fn> codes{lowp::float8_e4m3fn(448), lowp::float8_e4m3fn(-0.5f)};
  lowp::scaled s{codes, 0x1p-8f};
  lowp::abs_range const all = lowp::abs_range_of<lowp::float16>(s);
  EXPECT_EQ(all.overflow, 1U);
  EXPECT_EQ(all.max_abs.value(), 448.0f * 256);
  EXPECT_EQ(all.min_abs.value(), 128.0f);
  s.scale = 0;
  EXPECT_THROW(static_cast<void>(lowp::abs_range_of(s)), std::invalid_argument);
}

}  // namespace
