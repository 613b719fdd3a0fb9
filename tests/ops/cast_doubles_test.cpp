// SPDX-License-Identifier: Apache-2.0
// cast of double, and to double, has the same bits as convert. It is tested around every change of
// the result, on every backend, at every length of a batch.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <stdexcept>

#include "cast_numbers.hpp"

namespace {

using namespace lowp_test;
using lowp::bfloat16;
using lowp::float16;
using lowp::float8_e4m3fn;
using lowp::float8_e8m0fnu;

static_assert(lowp::cast_input<std::vector<double>> && lowp::cast_input<std::span<int const>>);
static_assert(lowp::cast_input<std::vector<std::int8_t>> && lowp::cast_input<std::uint64_t (&)[2]>);
static_assert(lowp::cast_input<std::vector<float>&> && lowp::cast_input<std::vector<long long>>);
static_assert(!lowp::cast_input<std::vector<long double>> && !lowp::cast_input<std::string>);
static_assert(!lowp::cast_input<std::u16string> && !lowp::cast_input<std::array<bool, 2>>);
static_assert(lowp::cast_output<std::vector<double>&> && lowp::cast_output<std::span<float>>);
static_assert(!lowp::cast_output<std::vector<double>> && !lowp::cast_output<std::vector<int>&>);
static_assert(!lowp::cast_output<std::vector<double> const&>);
static_assert(lowp::castable<std::vector<double>, std::vector<bfloat16>&>);
static_assert(lowp::castable<std::vector<double>, std::vector<double>&>);
static_assert(lowp::castable<std::vector<int>, std::vector<float>&>);
static_assert(!lowp::castable<std::vector<int>, std::vector<double>&>);
static_assert(!lowp::input<std::vector<double>> && !lowp::output<std::vector<double>&>);

// A double is read as a float that was rounded to odd, whatever the mode.
TEST(cast_doubles, to_a_narrow_format) {
  for (auto const& in : {doubles_around(facts<bfloat16>, 3), random_doubles(60'000)}) {
    check_nearest<bfloat16>(in);
    check<bfloat16>(in, lowp::upward{}, oracle::mode::upward, "upward");
  }
}

TEST(cast_doubles, to_float) {
  for (auto const& in : {doubles_around(oracle::binary32, 50'021), random_doubles(60'000)}) {
    check_nearest<float>(in);
    check<float>(in, lowp::nearest_away{}, oracle::mode::nearest_away, "nearest_away");
    check<float>(in, lowp::to_odd{}, oracle::mode::to_odd, "to_odd");
    check<float>(in, lowp::downward{}, oracle::mode::downward, "downward");
    check<float>(in, lowp::upward{}, oracle::mode::upward, "upward");
    check<float>(in, lowp::toward_zero{}, oracle::mode::toward_zero, "toward_zero");
  }
}

TEST(cast_doubles, to_formats_of_every_shape) {
  check_nearest<float16>(doubles_around(facts<float16>, 3));
  check_nearest<float8_e4m3fn>(doubles_around(facts<float8_e4m3fn>, 1));
  check_nearest<float8_e8m0fnu>(doubles_around(facts<float8_e8m0fnu>, 1));
  check_nearest<user_e2m13>(doubles_around(facts<user_e2m13>, 3));
}

// A million draws are all 65536 of them. Beside zeros a pack takes another way than without.
template <class To>
void expect_every_draw(double x) {
  std::vector<To> want;
  for (std::uint32_t r = 0; r < 0x10000; ++r)
    want.push_back(lowp::convert<To>(x, lowp::stochastic_bits{static_cast<std::uint16_t>(r)}));
  lowp::stochastic const mode{.seed = 9};
  lowp::random_source const source{mode.seed, mode.stream};
  for (std::size_t const zeros : {0U, 7U}) {
    std::vector<double> in(1'500'000, x);
    for (std::size_t i = 0; zeros != 0 && i < in.size(); i += zeros) in[i] = 0;
    std::vector<To> out(in.size());
    lowp::cast(in, out, mode);
    std::vector<bool> seen(0x10000);
    for (std::size_t i = 0; i < in.size(); ++i) {
      std::uint32_t const r = source(i);
      if (in[i] == 0) continue;
      ASSERT_EQ(std::memcmp(&out[i], &want[r], sizeof(To)), 0) << x << ' ' << r;
      seen[r] = true;
    }
    ASSERT_EQ(std::count(seen.begin(), seen.end(), true), 0x10000);
  }
}

TEST(cast_doubles, with_every_draw) {
  for (double const x : {1 + 0x1p-9 + 0x1p-40, -3.14159, 0x1.fep-127 * 0.99, 0x1p-133 * 0.7})
    expect_every_draw<bfloat16>(x);
  for (double const x : {1 + 0x1p-11 + 0x1p-28 - 0x1p-52, -3.14159, 0x1.ffep-15 * 0.999,
                         0x1p-24 * 0.7, 65519.99, 1e6})
    expect_every_draw<float16>(x);
  for (double const x : {1 + 0x1p-24 + 0x1p-41 - 0x1p-52, 0x1p-149 * 0.7, -0x1.fffffep-127 * 0.9})
    expect_every_draw<float>(x);
}

// A float has enough digits for the draws of some formats, and not for those of others.
TEST(cast_doubles, stochastically) {
  check_stochastic<float8_e4m3fn>(doubles_around(facts<float8_e4m3fn>, 1));
  check_stochastic<bfloat16>(doubles_around(facts<bfloat16>, 7));
  check_stochastic<float16>(doubles_around(facts<float16>, 7));
  check_stochastic<float>(doubles_around(oracle::binary32, 1'000'003));
}

template <class From>
void check_widening(std::vector<From> const& in) {
  std::vector<double> out(in.size());
  lowp::cast(in, out);
  for (std::size_t i = 0; i < in.size(); ++i) {
    auto const bits = std::bit_cast<std::uint64_t>(out[i]);
    std::uint64_t expected = 0;
    if constexpr (std::same_as<From, float>)
      expected = oracle::encode_wide(oracle::binary64, oracle::from(in[i]),
                                     oracle::mode::nearest_even, oracle::policy::infinity);
    else
      expected = oracle::encode_wide(oracle::binary64, oracle::decode(facts<From>, in[i].bits()),
                                     oracle::mode::nearest_even, oracle::policy::infinity);
    ASSERT_EQ(bits, expected) << shown(in[i]) << shown(out[i]);
  }
}

TEST(cast_to_double, is_exact) {
  std::vector<bfloat16> codes;
  for (std::uint32_t code = 0; code < code_count<bfloat16>; ++code)
    codes.push_back(of_code<bfloat16>(code));
  check_widening(codes);
  std::vector<float> floats;
  for (std::uint32_t bits = 0; bits < 0xffff'0000; bits += 65'521) floats.push_back(float_of(bits));
  check_widening(floats);
}

// A batch and a bit, from every start: a part of a pack, then nothing beyond it.
TEST(cast_numbers, of_every_length_from_every_start) {
  std::vector<double> const in = random_doubles(600);
  std::vector<bfloat16> whole(in.size());
  lowp::stochastic const mode{.seed = 1};
  for (std::size_t size = 0; size < 300; ++size) {
    std::size_t const first = size % 9;
    std::vector<bfloat16> out(size + 1, bfloat16(7));
    lowp::cast(in, whole);
    lowp::cast(std::span(in).subspan(first, size), std::span(out).first(size));
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(out[i].bits(), whole[first + i].bits());
    ASSERT_EQ(out[size], 7);
    lowp::cast(in, whole, mode);
    lowp::cast(std::span(in).subspan(first, size), std::span(out).first(size), mode.after(first));
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(out[i].bits(), whole[first + i].bits());
    std::vector<double> back(size + 1, 7.0);
    lowp::cast(std::span(whole).subspan(first, size), std::span(back).first(size));
    for (std::size_t i = 0; i < size; ++i) {
      ASSERT_TRUE(isnan(whole[first + i]) || back[i] == whole[first + i]);
    }
    ASSERT_EQ(back[size], 7);
  }
}

TEST(cast_numbers, in_place_where_elements_have_equal_size) {
  std::vector<std::int16_t> storage{1, -2, 300, 32767};
  std::span const narrow(reinterpret_cast<bfloat16*>(storage.data()), storage.size());
  lowp::cast(storage, narrow);
  EXPECT_EQ(narrow[1], -2);
  EXPECT_EQ(narrow[3], 32768);
  std::vector<double> wide{1, 2, 3};
  lowp::cast(wide, wide);
  EXPECT_EQ(wide, (std::vector<double>{1, 2, 3}));
  std::span const start(reinterpret_cast<float*>(wide.data()), wide.size());
  EXPECT_THROW(lowp::cast(wide, start), std::invalid_argument);
  std::vector<float> shorter(2);
  EXPECT_THROW(lowp::cast(wide, shorter), std::invalid_argument);
}

}  // namespace
