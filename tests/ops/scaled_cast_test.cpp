// SPDX-License-Identifier: Apache-2.0
// scaled_cast and its amax against the oracle.
#include <gtest/gtest.h>
#include <lowp/cast.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/refusals.hpp"
#include "train/update/support.hpp"

namespace {

using namespace lowp_test;

template <class T>
class scaled_cast : public testing::Test {};
// `cast` is tested with all formats; what is added here does not depend on them.
using some_formats = first_or_all<
    3, testing::Types<lowp::bfloat16, lowp::float8_e4m3fn, lowp::float8_e8m0fnu, lowp::float16,
                      lowp::float8_e5m2, lowp::float8_e4m3fnuz, lowp::float4_e2m1fn>>;
TYPED_TEST_SUITE(scaled_cast, some_formats, by_format);

// The largest magnitude as integers order them, without NaN.
std::uint32_t oracle_amax(tensor const& t) {
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < t.size(); ++i) {
    std::uint32_t const magnitude = t.value(i) & 0x7fffffffU;
    if (magnitude <= 0x7f800000U) largest = std::max(largest, magnitude);
  }
  return largest;
}

template <lowp::element From, lowp::element To, class R>
void expect_oracle(std::size_t size, float scale, R const& rounding, slot_mode const& mode) {
  tensor const in = random_tensor<From>(size, size, values::corners);
  tensor want{slot_facts<To>(), in.codes};
  for (std::size_t i = 0; i < size; ++i)
    store(want, i, oracle::f32_mul(in.value(i), float_bits(scale)), mode, 0, {});

  for (std::size_t const lead : {0U, 3U}) {
    guarded<From> from(in, lead);
    guarded<To> to(want, lead);
    for (To& x : to.span()) x = slot_value<To>(1);
    lowp::amax largest{float_bits(0.5f)};
    lowp::scaled_cast(from.span(), to.span(), scale, largest, rounding);
    ASSERT_TRUE(to.holds(want, "out"));
    ASSERT_EQ(largest.bits, std::max(oracle_amax(in), float_bits(0.5f)));
    for (To& x : to.span()) x = slot_value<To>(1);
    lowp::scaled_cast(from.span(), to.span(), scale, rounding);
    ASSERT_TRUE(to.holds(want, "out"));
  }
}

TYPED_TEST(scaled_cast, is_one_product_rounded) {
  for (float const scale : {1.0f, 0.125f, 448.0f / 3, 1e-30f, -7.0f}) {
    SCOPED_TRACE(scale);
    for_each_rounding<modes::two>(
        [&](auto const& rounding, slot_modes const& mode, char const* name) {
          SCOPED_TRACE(name);
          for (std::size_t const size : {0U, 1U, 5U, 300U, 1001U}) {
            expect_oracle<float, TypeParam>(size, scale, rounding, mode.param);
            expect_oracle<TypeParam, lowp::bfloat16>(size, scale, rounding, mode.param);
          }
        });
  }
}

TEST(amax, merges_and_keeps_nan) {
  lowp::amax a{float_bits(3.0f)};
  EXPECT_EQ(a.value(), 3.0f);
  a += lowp::amax{float_bits(2.0f)};
  EXPECT_EQ(a.value(), 3.0f);
  a += lowp::amax{float_bits(__builtin_inff())};
  EXPECT_EQ(a.bits, 0x7f800000U);
  a += lowp::amax{0x7fc00000};
  a += lowp::amax{float_bits(__builtin_inff())};
  EXPECT_EQ(a.bits, 0x7fc00000U);
}

// A NaN beside the largest, or in its lane of the pack before or after, hides nothing.
TEST(amax, skips_one_nan_anywhere) {
  std::vector<float> x(600, -2.0f);
  std::vector<lowp::float8_e4m3fn> y(600);
  for (std::uint32_t const nan : {0xff800001U, 0x7fc00000U, 0x7fffffffU})
    for (std::size_t i = 0; i < x.size(); ++i)
      for (std::size_t const distance : {1U, 8U, 16U, 584U, 592U, 599U}) {
        std::size_t const at = (i + distance) % x.size();
        x[i] = float_of(nan);
        x[at] = -3.0f;
        lowp::amax largest;
        lowp::scaled_cast(x, y, 1.0f, largest);
        ASSERT_EQ(largest.value(), 3.0f) << i << ' ' << at;
        x[i] = x[at] = -2.0f;
      }
  std::vector<float> const none(600, float_of(0xffc00000));
  lowp::amax largest;
  lowp::scaled_cast(none, y, 1.0f, largest);
  EXPECT_EQ(largest.bits, 0U);
}

TEST(amax, of_shards_is_that_of_the_whole) {
  tensor const in = random_tensor<lowp::bfloat16>(5000, 3, values::training);
  guarded<lowp::bfloat16> x(in, 0);
  std::vector<lowp::float8_e5m2> y(5000);
  lowp::amax whole;
  lowp::amax shards;
  lowp::scaled_cast(x.span(), y, 4.0f, whole);
  for (std::size_t first = 0; first < 5000; first += 700) {
    std::size_t const count = std::min<std::size_t>(700, 5000 - first);
    lowp::scaled_cast(x.span().subspan(first, count), std::span(y).subspan(first, count), 4.0f,
                      shards);
  }
  EXPECT_EQ(whole.bits, shards.bits);
}

TEST(scaled_cast_scale, refuses_an_invalid_scale) {
  std::vector<float> const x(8, 1.0f);
  std::vector<lowp::bfloat16> y(8, lowp::bfloat16(7));
  lowp::amax largest{};
  for (std::uint32_t const bits :
       {0U, 0x80000000U, 0x7f800000U, 0xff800000U, 0x7fc00000U, 0xffc00000U, 0x7f800001U}) {
    std::string const start = "lowp::scaled_cast: scale is ";
    EXPECT_EQ(refusal_of([&] { lowp::scaled_cast(x, y, float_of(bits)); }).find(start), 0U);
    EXPECT_EQ(refusal_of([&] { lowp::scaled_cast(x, y, float_of(bits), largest); }).find(start),
              0U);
  }
  expect_refusal([&] { lowp::scaled_cast(x, y, -0.0f); },
                 "lowp::scaled_cast: scale is -0, not finite and other than 0");
  // Doubles that float rounds to 0 and to infinity.
  expect_refusal([&] { lowp::scaled_cast(x, y, 1e-60); },
                 "lowp::scaled_cast: scale is 1e-60, 0 as a float, not finite and other than 0");
  expect_refusal([&] { lowp::scaled_cast(x, y, -0x1p-150); },
                 "lowp::scaled_cast: scale is -7.006492321624085e-46, -0 as a float, not finite "
                 "and other than 0");
  expect_refusal([&] { lowp::scaled_cast(x, y, 1e39); },
                 "lowp::scaled_cast: scale is 1e+39, inf as a float, not finite and other than 0");
  EXPECT_EQ(y, std::vector<lowp::bfloat16>(8, lowp::bfloat16(7)));
  EXPECT_EQ(largest.bits, 0U);
  EXPECT_NO_THROW(lowp::scaled_cast(x, y, -0x1p-149f));
  EXPECT_NO_THROW(lowp::scaled_cast(x, y, 0x1.0000000000001p-150));
}

TEST(scaled_cast_ranges, refuses_what_cast_refuses) {
  std::vector<float> x(8);
  std::vector<lowp::bfloat16> y(7, lowp::bfloat16(1));
  try {
    lowp::scaled_cast(x, y, 2.0f);
    FAIL() << "sizes differ";
  } catch (std::invalid_argument const& refusal) {
    EXPECT_STREQ(refusal.what(), "lowp::scaled_cast: sizes differ: in has 8, out has 7");
  }
  EXPECT_THROW(lowp::scaled_cast(std::span(x).subspan(0, 4), std::span(x).subspan(1, 4), 2.0f),
               std::invalid_argument);
  for (lowp::bfloat16 const each : y) EXPECT_EQ(each, lowp::bfloat16(1));
}

TEST(amax, is_a_float_where_one_is_asked_for) {
  lowp::amax const largest{float_bits(2.5f)};
  EXPECT_EQ(static_cast<float>(largest), 2.5f);
  EXPECT_FALSE((std::is_convertible_v<lowp::amax, float>));
}

}  // namespace
