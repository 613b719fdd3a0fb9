// SPDX-License-Identifier: Apache-2.0
// census of floats against the oracle: at every change of the result, at all magnitudes, in any
// number and order.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "support/boundaries.hpp"
#include "support/census_expectations.hpp"

namespace {

using namespace lowp_test;

tensor tensor_of(std::vector<std::uint32_t> const& bits) { return {oracle::binary32, bits}; }

template <lowp::element To>
void expect_oracle(tensor const& in, std::size_t lead = 0) {
  guarded<float> x(in, lead);
  expect(lowp::census<To>(x.span()), expected_of<To>(in));
}

// First and last float of every run that shares a code, such as the last one that becomes zero.
// Both signs.
template <lowp::narrow To>
void expect_boundaries() {
  std::vector<std::uint32_t> bits;
  for (sample const& s :
       boundaries(facts<To>, oracle::mode::nearest_even, oracle::policy::infinity))
    bits.push_back(float_bits(s.x));
  expect_oracle<To>(tensor_of(bits));
  std::shuffle(bits.begin(), bits.end(), std::mt19937_64(1));
  expect_oracle<To>(tensor_of(bits));
  // Few at a time, so that no larger one hides a smaller one.
  std::size_t const stride = bits.size() > 20000 ? 97 : 5;
  for (std::size_t first = 0; first < bits.size(); first += stride) {
    std::size_t const end = std::min(first + (first % 2 == 0 ? 1 : 3), bits.size());
    expect_oracle<To>(tensor_of({bits.begin() + static_cast<std::ptrdiff_t>(first),
                                 bits.begin() + static_cast<std::ptrdiff_t>(end)}));
    ASSERT_FALSE(testing::Test::HasFailure()) << "of " << hex(bits[first], 8);
  }
}

template <class To>
class census_to : public testing::Test {};
using targets =
    first_or_all<3, testing::Types<lowp::float16, lowp::bfloat16, lowp::float6_e2m3fn,
                                   lowp::float8_e5m2, lowp::float8_e4m3fn, lowp::float8_e4m3b11fnuz,
                                   lowp::float4_e2m1fn, user_e6m9>>;
TYPED_TEST_SUITE(census_to, targets, by_format);

TYPED_TEST(census_to, at_boundaries) { expect_boundaries<TypeParam>(); }

TYPED_TEST(census_to, of_corners_and_of_normal_numbers) {
  for (std::size_t const size : {0U, 1U, 5U, 300U, 2048U, 2049U, 4095U, 4096U, 4097U})
    for (std::size_t const lead : {0U, 3U}) {
      expect_oracle<TypeParam>(random_tensor<float>(size, size, values::corners), lead);
      expect_oracle<TypeParam>(random_tensor<float>(size, size, values::training, 0.02), lead);
    }
}

TEST(census, to_float_loses_nothing) {
  tensor const in = random_tensor<float>(5001, 1, values::corners);
  expected_census want = expected_of<lowp::bfloat16>(in);
  guarded<float> x(in, 0);
  lowp::range_census const all = lowp::census<float>(x.span());
  EXPECT_EQ(all.overflow, 0U);
  EXPECT_EQ(all.flushed, 0U);
  EXPECT_EQ(all.subnormal, all.exponents[-127]);
  EXPECT_EQ(all.exponents[-127], want.exponents[-127]);
  EXPECT_EQ(all.max_relative_error.bits, 0U);
  EXPECT_EQ(all.mean_square_error(), 0.0);
}

TEST(census, of_nothing) {
  lowp::range_census const none = lowp::census<lowp::float16>(std::vector<float>{});
  EXPECT_TRUE(same(none, lowp::range_census{}));
  EXPECT_EQ(none.count, 0U);
  EXPECT_EQ(none.max_abs.value(), 0.0f);
  EXPECT_EQ(none.min_abs.value(), std::numeric_limits<float>::infinity());
  EXPECT_EQ(none.mean_square_error(), 0.0);
}

// Nothing that is counted apart enters range or errors.
TEST(census, of_one_kind) {
  for (std::uint32_t const bits : {0x00000000U, 0x80000000U, 0x7fc00000U, 0xff800001U, 0x7f800000U,
                                   0xff800000U, 0x00000001U, 0x7f7fffffU, 0x3f800000U}) {
    for (std::size_t const size : {1U, 7U, 64U, 4099U}) {
      expect_oracle<lowp::float16>(tensor_of(std::vector<std::uint32_t>(size, bits)));
      expect_oracle<lowp::bfloat16>(tensor_of(std::vector<std::uint32_t>(size, bits)));
    }
  }
}

// An odd element at any place in a register, batch or buffer is seen once.
TEST(census, sees_each_element_once) {
  for (std::uint32_t const bits :
       {0x7fc00000U, 0x7f800000U, 0x7f7fffffU, 0x00000001U, 0x33800001U}) {
    for (std::size_t const size : {300U, 4100U}) {
      for (std::size_t at = 0; at < size; at += 1 + at % 13) {
        std::vector<std::uint32_t> x(size, 0x3f800000U);
        x[at] = bits;
        expect_oracle<lowp::float16>(tensor_of(x));
        ASSERT_FALSE(testing::Test::HasFailure()) << at;
      }
    }
  }
}

// All kinds of exponents at once, and few: they are counted in two ways.
TEST(census, of_few_and_of_many_exponents) {
  std::mt19937_64 random(3);
  for (unsigned const kinds :
       {1U, 2U, 3U, 4U, 5U, 15U, 16U, 17U, 31U, 32U, 33U, 63U, 64U, 65U, 254U})
    for (unsigned const first : {1U, 255U - kinds}) {
      std::vector<std::uint32_t> bits(10000);
      for (std::uint32_t& each : bits)
        each = (first + static_cast<std::uint32_t>(random() % kinds)) << 23 |
               static_cast<std::uint32_t>(random() & 0x807fffffU);
      expect_oracle<lowp::bfloat16>(tensor_of(bits));
      ASSERT_FALSE(testing::Test::HasFailure()) << kinds << " from " << first;
    }
}

// A few hundred of one kind, then of another. Some of them have what is rare among many elements,
// and earlier findings are kept.
template <lowp::element To>
void expect_runs() {
  std::mt19937_64 random(5);
  std::vector<std::uint32_t> bits;
  for (int run = 0; run < 150; ++run) {
    std::uint64_t const kind = random() % 8;
    std::uint64_t const size = 1 + random() % 900;
    for (std::uint64_t i = 0; i < size; ++i) {
      auto const sign_and_significand = static_cast<std::uint32_t>(random() & 0x807fffffU);
      auto const near = static_cast<std::uint32_t>(random() % 8);
      std::array<std::uint32_t, 8> const choices{
          0,                                               // zeros
          (120 + near) << 23 | sign_and_significand,       // normal everywhere
          (120 + near) << 23 | near << 20,                 // and exact
          (100 + 4 * near) << 23 | sign_and_significand,   // subnormal and flushed
          (112 + near) << 23 | near << 19,                 // subnormal and exact
          (135 + 17 * near) << 23 | sign_and_significand,  // overflow, infinities and NaN
          sign_and_significand,                            // subnormal as floats
          static_cast<std::uint32_t>(random())};           // anything
      bits.push_back(choices[kind]);
    }
  }
  expect_oracle<To>(tensor_of(bits), 3);
}
TYPED_TEST(census_to, of_runs_of_each_kind) { expect_runs<TypeParam>(); }

// Cut at multiples of a group, in any order.
template <lowp::element To>
void expect_shards(tensor const& in) {
  guarded<float> x(in, 1);
  lowp::range_census const whole = lowp::census<To>(x.span());
  expect(whole, expected_of<To>(in));
  lowp::range_census const again = lowp::census<To>(x.span());
  EXPECT_EQ(std::memcmp(&again, &whole, sizeof whole), 0);  // the sum too has the same bits
  for (std::size_t const groups : {1U, 3U, 64U}) {
    lowp::range_census merged;
    for (std::size_t end = in.size(); end != 0;) {
      std::size_t const first = (end - 1) / (groups * 256) * (groups * 256);
      merged += lowp::census<To>(x.span().subspan(first, end - first));
      end = first;
    }
    EXPECT_TRUE(same(merged, whole)) << groups;
  }
}
TEST(census, of_shards_is_that_of_the_whole) {
  expect_shards<lowp::float16>(random_tensor<float>(320 * 256 + 77, 8, values::training, 1e-3));
  expect_shards<lowp::float16>(groups_of_magnitudes());
  expect_shards<lowp::bfloat16>(groups_of_magnitudes());
}

// The known cases of float16: IEEE 754's border of overflow, and of what becomes zero.
TEST(census, of_the_ends_of_float16) {
  std::vector<float> const x{65519.0f, -65520.0f,    0x1p-25f,       -0x1.000002p-25f,
                             0x1p-14f, 0x1.ffcp-15f, 0x1.ffbffep-15f};
  lowp::range_census const all = lowp::census<lowp::float16>(x);
  EXPECT_EQ(all.overflow, 1U);
  EXPECT_EQ(all.flushed, 1U);
  EXPECT_EQ(all.subnormal, 2U);
  EXPECT_EQ(all.max_abs.value(), 65520.0f);
  EXPECT_EQ(all.min_abs.value(), 0x1p-25f);
}

TEST(census, has_a_text) {
  float const infinity = std::numeric_limits<float>::infinity();
  float const nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> const x{98304.0f, -infinity, nan, -nan, 0.0f, -0.0f, 0x1p-20f, 0x1p-30f, 1.0f};
  EXPECT_EQ(text(lowp::census<lowp::float16>(x)),
            "9 elements, 2 of them 0; magnitudes from 9.31e-10 to 9.83e+04\n"
            "overflow 1, flushed 1, subnormal 1; already infinite 1, NaN 2\n"
            "relative error up to 1, mean square error 1.73e-19");
  EXPECT_EQ(text(lowp::range_census{}),
            "0 elements, 0 of them 0\n"
            "overflow 0, flushed 0, subnormal 0; already infinite 0, NaN 0\n"
            "relative error up to 0, mean square error 0");
}

}  // namespace
