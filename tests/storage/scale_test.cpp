// SPDX-License-Identifier: Apache-2.0
// Scales from amax against a search in double: every exponent, with the significands around which
// the answer changes. Delayed scales against the steps of Transformer Engine's kernel, written out.
#include <gtest/gtest.h>
#include <lowp/cast.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "support/refusals.hpp"
#include "support/scales.hpp"

namespace {

using namespace lowp_test;

template <class T>
class scale : public testing::Test {};
TYPED_TEST_SUITE(scale, scalable_formats, by_format);

// Bits of positive floats: all exponents, and at each the ends, the middle, and what lies within
// three of the format's largest significand.
std::vector<std::uint32_t> magnitudes(oracle::facts const& f) {
  auto const largest = std::bit_cast<std::uint32_t>(static_cast<float>(f.max_finite)) & 0x7fffffU;
  std::set<std::uint32_t> significands{0, 1, 2, 0x3fffff, 0x400000, 0x400001, 0x7ffffe, 0x7fffff};
  for (std::uint32_t i = 0; i < 7; ++i) significands.insert((largest + i - 3) & 0x7fffffU);
  for (std::uint32_t i = 0; i < 23; ++i) significands.insert(1U << i);
  std::vector<std::uint32_t> all;
  for (std::uint32_t field = 0; field < 255; ++field)
    for (std::uint32_t const s : significands)
      if ((field | s) != 0) all.push_back(field << 23 | s);
  return all;
}

TYPED_TEST(scale, is_the_largest_that_fits) {
  for (std::uint32_t const bits : magnitudes(facts<TypeParam>)) {
    float const amax = float_of(bits);
    for (int const margin : {0, 1, 7, 40, 300, -3, -300, std::numeric_limits<int>::max(),
                             std::numeric_limits<int>::min()}) {
      double const want = oracle_scale(facts<TypeParam>, double{amax}, margin);
      float const got = lowp::power_of_two_scale<TypeParam>(amax, margin);
      ASSERT_EQ(double{got}, want) << std::hexfloat << amax << " margin " << margin;
      ASSERT_TRUE(std::isnormal(got) && std::isnormal(1 / got));
    }
    ASSERT_EQ(lowp::power_of_two_scale<TypeParam>(-amax),
              lowp::power_of_two_scale<TypeParam>(amax));
  }
}

TYPED_TEST(scale, overflows_in_no_mode) {
  for (std::uint32_t const bits : magnitudes(facts<TypeParam>)) {
    float const amax = float_of(bits);
    float const scaled = amax * lowp::power_of_two_scale<TypeParam>(amax);
    auto const largest = static_cast<float>(facts<TypeParam>.max_finite);
    ASSERT_LE(float{lowp::convert<TypeParam>(scaled, lowp::upward{}, lowp::overflow::infinity)},
              largest);
    ASSERT_GE(float{lowp::convert<TypeParam>(-scaled, lowp::downward{}, lowp::overflow::infinity)},
              -largest);
  }
}

TYPED_TEST(scale, of_no_number_is_one) {
  for (std::uint32_t const bits : {0U, 0x80000000U, 0x7f800000U, 0xff800000U})
    for (int const margin : {0, 5}) {
      EXPECT_EQ(lowp::power_of_two_scale<TypeParam>(lowp::amax{bits}, margin), 1.0f) << bits;
      EXPECT_EQ(lowp::power_of_two_scale<TypeParam>(float_of(bits), margin), 1.0f) << bits;
    }
}

TYPED_TEST(scale, refuses_nan_by_name) {
  for (std::uint32_t const bits : {0x7fc00000U, 0x7f800001U, 0xffffffffU}) {
    std::string const text = "lowp::power_of_two_scale: amax is NaN, of which no scale can be made";
    expect_refusal([&] { lowp::power_of_two_scale<TypeParam>(lowp::amax{bits}); }, text);
    expect_refusal([&] { lowp::power_of_two_scale<TypeParam>(float_of(bits), 5); }, text);
  }
}

TYPED_TEST(scale, of_a_block) {
  for (std::uint32_t const bits : magnitudes(facts<TypeParam>)) {
    for (bool const floor : {false, true}) {
      auto const rule = floor ? lowp::scale_rule::floor : lowp::scale_rule::rceil;
      std::uint32_t const code = lowp::detail::block_scale<TypeParam>(bits, rule);
      int const exponent = oracle_block_exponent(facts<TypeParam>, double{float_of(bits)}, floor);
      ASSERT_EQ(static_cast<int>(code) - 127, exponent) << std::hexfloat << float_of(bits);
      ASSERT_EQ(float_of(lowp::detail::decode<lowp::float8_e8m0fnu::descriptor>(code)),
                std::ldexp(1.0f, exponent));
      ASSERT_EQ(float_of(lowp::detail::reciprocal_of_block_scale(code)),
                std::ldexp(1.0f, -exponent));
    }
  }
  for (auto const rule : {lowp::scale_rule::floor, lowp::scale_rule::rceil}) {
    EXPECT_EQ(lowp::detail::block_scale<TypeParam>(0U, rule), 0U);
    for (std::uint32_t const bits : {0x7f800000U, 0x7f800001U, 0x7fc00000U, 0x7fffffffU})
      EXPECT_EQ(lowp::detail::block_scale<TypeParam>(bits, rule), 255U);
  }
  EXPECT_TRUE(std::isnan(float_of(lowp::detail::decode<lowp::float8_e8m0fnu::descriptor>(255U))));
  EXPECT_TRUE(std::isnan(float_of(lowp::detail::reciprocal_of_block_scale(255U))));
}

static_assert(lowp::power_of_two_scale<lowp::float8_e4m3fn>(448.0f) == 1.0f);
static_assert(lowp::power_of_two_scale<lowp::float8_e4m3fn>(449.0f) == 0.5f);
static_assert(!lowp::scalable<float> && !lowp::scalable<lowp::float8_e8m0fnu>);

// transformer_engine/common/recipe/delayed_scaling.cu: row 0 takes the amax of the running step; an
// update rolls the rows and clears row 0. Only how a scale follows from the amax is this library's.
struct rolled_history {
  std::vector<float> rows;
  double scale = 1;

  explicit rolled_history(std::size_t length) : rows(length, 0.0f) {}
  void update(oracle::facts const& f, float amax, bool most_recent, int margin, bool is_due) {
    rows[0] = amax;
    float chosen = 0;
    std::vector<float> updated(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      float const a = i < rows.size() - 1 ? rows[i + 1] : rows[0];
      chosen = std::fmax(chosen, a);
      updated[i] = i > 0 ? a : 0;
    }
    rows = updated;
    if (most_recent) chosen = amax;
    if (is_due && std::isfinite(chosen) && chosen > 0)
      scale = oracle_scale(f, double{chosen}, margin);
  }
};

template <std::uint32_t Capacity>
void expect_rolled(std::uint32_t length, bool most_recent, int margin, std::uint32_t interval) {
  using T = lowp::float8_e4m3fn;
  lowp::delayed_scale<T, Capacity> got;
  got.margin = margin;
  got.algorithm = most_recent ? lowp::amax_algorithm::most_recent : lowp::amax_algorithm::max;
  got.interval = interval;
  got.length = length;
  rolled_history want(std::clamp(length, 1U, Capacity));
  std::mt19937_64 random(length + 100 * interval);
  std::array const special{0.0f, float_of(0x7f800000), float_of(1)};
  for (std::uint32_t step = 1; step <= 300; ++step) {
    float const amax = random() % 16 == 0
                           ? special[random() % special.size()]
                           : std::ldexp(1.0f + static_cast<float>(random() % 1024) / 1024,
                                        static_cast<int>(random() % 60) - 30);
    ASSERT_EQ(double{got.scale}, want.scale);
    got.update(lowp::amax{float_bits(amax)});
    want.update(facts<T>, amax, most_recent, margin, interval == 0 || step % interval == 0);
    ASSERT_EQ(double{got.scale}, want.scale) << "step " << step;
  }
}

TEST(delayed_scale, follows_transformer_engine) {
  for (bool const most_recent : {false, true})
    for (int const margin : {0, 2})
      for (std::uint32_t const interval : {0U, 1U, 3U}) {
        SCOPED_TRACE(interval);
        expect_rolled<16>(16, most_recent, margin, interval);
        expect_rolled<16>(5, most_recent, margin, interval);
        expect_rolled<16>(1, most_recent, margin, interval);
        expect_rolled<16>(0, most_recent, margin, interval);
        expect_rolled<16>(17, most_recent, margin, interval);
        expect_rolled<1024>(1024, most_recent, margin, interval);
      }
}

TEST(delayed_scale, is_saved_as_its_bytes) {
  using state = lowp::delayed_scale<lowp::float8_e5m2, 8>;
  static_assert(std::is_trivially_copyable_v<state>);
  state whole;
  for (int i = 0; i < 11; ++i) whole.update(lowp::amax{float_bits(1.0f + static_cast<float>(i))});
  std::array<unsigned char, sizeof(state)> saved{};
  std::memcpy(saved.data(), &whole, sizeof whole);
  state resumed;
  std::memcpy(&resumed, saved.data(), sizeof resumed);
  for (int i = 0; i < 20; ++i) {
    lowp::amax const largest{float_bits(100.0f / static_cast<float>(i + 1))};
    whole.update(largest);
    resumed.update(largest);
    ASSERT_EQ(whole.scale, resumed.scale);
  }
}

TEST(delayed_scale, refuses_nan_and_skips_one_in_its_history) {
  lowp::delayed_scale<lowp::float8_e4m3fn, 4> s;
  s.update(lowp::amax{float_bits(4.0f)});
  expect_refusal([&] { s.update(lowp::amax{0x7fc00000}); },
                 "lowp::delayed_scale::update: the largest magnitude is NaN, of which no scale can "
                 "be made");
  EXPECT_EQ(s.updates, 1U);
  EXPECT_EQ(s.scale, 64.0f);
  s.history[0] = {float_bits(2.0f)};
  s.history[1] = {0x7fc00000};  // as an old checkpoint may have it
  s.updates = 2;
  s.update(lowp::amax{float_bits(1.0f)});
  EXPECT_EQ(s.scale, 128.0f);
}

// A tensor that has grown fourfold saturates for one step, and then no more.
TEST(delayed_scale, is_one_step_behind) {
  lowp::delayed_scale<lowp::float8_e4m3fn, 4> s;
  s.update(lowp::amax{float_bits(1.0f)});
  EXPECT_EQ(s.scale, 256.0f);
  s.update(lowp::amax{float_bits(4.0f)});
  EXPECT_EQ(s.scale, 64.0f);
  for (int i = 0; i < 3; ++i) {
    s.update(lowp::amax{float_bits(1.0f)});
    EXPECT_EQ(s.scale, 64.0f);
  }
  s.update(lowp::amax{float_bits(1.0f)});
  EXPECT_EQ(s.scale, 256.0f);
}

}  // namespace
