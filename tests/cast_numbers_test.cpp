// SPDX-License-Identifier: Apache-2.0
// cast of double and of integers, and to double: every place where a result changes, against the
// oracle; on every backend, at every length of a batch, and the same bits as convert.
#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <stdexcept>

#include "support.hpp"

namespace {

using namespace lowp_test;
using lowp::bfloat16;
using lowp::float16;
using lowp::float8_e4m3fn;
using lowp::float8_e8m0fnu;

static_assert(lowp::cast_input<std::vector<double>> && lowp::cast_input<std::span<const int>>);
static_assert(lowp::cast_input<std::vector<std::int8_t>> && lowp::cast_input<std::uint64_t (&)[2]>);
static_assert(lowp::cast_input<std::vector<float>&> && lowp::cast_input<std::vector<long long>>);
static_assert(!lowp::cast_input<std::vector<long double>> && !lowp::cast_input<std::string>);
static_assert(!lowp::cast_input<std::u16string> && !lowp::cast_input<std::array<bool, 2>>);
static_assert(lowp::cast_output<std::vector<double>&> && lowp::cast_output<std::span<float>>);
static_assert(!lowp::cast_output<std::vector<double>> && !lowp::cast_output<std::vector<int>&>);
static_assert(!lowp::cast_output<const std::vector<double>&>);
static_assert(lowp::castable<std::vector<double>, std::vector<bfloat16>&>);
static_assert(lowp::castable<std::vector<double>, std::vector<double>&>);
static_assert(lowp::castable<std::vector<int>, std::vector<float>&>);
static_assert(!lowp::castable<std::vector<int>, std::vector<double>&>);
static_assert(!lowp::input<std::vector<double>> && !lowp::output<std::vector<double>&>);

template <class T>
constexpr oracle::facts target_facts() {
  if constexpr (std::same_as<T, float>)
    return oracle::binary32;
  else
    return facts<T>;
}

// All that lies around a magnitude: what the 2^-17 of a gap decides, and neighbours as near as double
// has them.
void add_around(std::vector<double>& all, double at, double next) {
  const double gap = next - at;
  for (const double part : {0.0, 0x1p-17, 0.25, 0.5, 1 - 0x1p-17}) {
    const double x = at + gap * part;
    for (const double near : {x, std::nextafter(x, HUGE_VAL), std::nextafter(x, -HUGE_VAL)}) {
      all.push_back(near);
      all.push_back(-near);
    }
  }
}

// Around every `step`-th value of a format, all of its first and last, and what no format has.
std::vector<double> doubles_around(const oracle::facts& f, std::uint32_t step) {
  std::vector<double> all{HUGE_VAL, -HUGE_VAL, 1e300, -1e300, 0x1p-1074, -0x1p-1074, 0x1p128};
  for (const std::uint64_t bits : {0x7ff8000000000000U, 0xfff0000000000001U, 0xfff1234567890abcU})
    all.push_back(std::bit_cast<double>(bits));
  const auto top = static_cast<std::uint32_t>(f.max_code()) + 2;
  for (std::uint64_t code = 0; code < top;) {
    const auto value = [&](std::uint64_t c) {
      const oracle::number x = oracle::magnitude_value(f, c);
      return std::ldexp(static_cast<double>(x.significand), x.exponent);
    };
    add_around(all, value(code), value(code + 1));
    code += code < 20 || code + 20 + step > top ? 1 : step;
  }
  return all;
}

std::vector<double> random_doubles(std::size_t count) {
  std::mt19937_64 random(7);
  std::vector<double> all;
  while (all.size() < count) {
    const std::uint64_t bits = random(), exponent = 1023 - 160 + random() % 300;
    all.push_back(std::bit_cast<double>(bits));
    all.push_back(std::bit_cast<double>((bits & 0x800fffffffffffff) | exponent << 52));
    all.push_back(static_cast<double>(static_cast<std::int64_t>(bits) >> (bits % 60)));
  }
  return all;
}

template <class To, class From, class R>
void check(const std::vector<From>& in, R rounding, oracle::mode mode, const char* name) {
  for (const named_policy& policy : policies) {
    std::vector<To> out(in.size());
    lowp::cast(in, out, rounding, policy.overflow);
    for (std::size_t i = 0; i < in.size(); ++i) {
      std::uint32_t random = 0;
      if constexpr (R::is_stochastic)
        random = lowp::random_source{rounding.seed, rounding.stream}(rounding.offset + i);
      const std::uint32_t expected =
          oracle::encode(target_facts<To>(), oracle::from(in[i]), mode, policy.policy, random);
      ASSERT_TRUE(has_bits(out[i], expected, in[i], name, policy.name, random));
      if (i % 64 != 0) continue;
      if constexpr (R::is_stochastic)
        ASSERT_TRUE(
            has_bits(lowp::convert<To>(in[i], rounding.after(i), policy.overflow), expected));
      else
        ASSERT_TRUE(has_bits(lowp::convert<To>(in[i], rounding, policy.overflow), expected));
    }
  }
}
template <class To, class From>
void check_nearest(const std::vector<From>& in) {
  check<To>(in, lowp::nearest_even{}, oracle::mode::nearest_even, "nearest_even");
}
template <class To, class From>
void check_stochastic(const std::vector<From>& in) {
  check<To>(in, lowp::stochastic{.seed = 5, .stream = 6, .offset = 3}, oracle::mode::stochastic,
            "stochastic");
}

TEST(cast_doubles, to_a_narrow_format_in_every_mode) {
  for (const auto& in : {doubles_around(facts<bfloat16>, 7), random_doubles(30'000)}) {
    for_each_mode([&](const auto& m) { check<bfloat16>(in, m.rounding, m.mode, m.name); });
  }
}

TEST(cast_doubles, to_float_in_every_mode) {
  for (const auto& in : {doubles_around(oracle::binary32, 100'003), random_doubles(30'000)}) {
    for_each_mode([&](const auto& m) { check<float>(in, m.rounding, m.mode, m.name); });
  }
}

TEST(cast_doubles, to_formats_of_every_shape) {
  check_nearest<float16>(doubles_around(facts<float16>, 3));
  check_nearest<float8_e4m3fn>(doubles_around(facts<float8_e4m3fn>, 1));
  check_nearest<float8_e8m0fnu>(doubles_around(facts<float8_e8m0fnu>, 1));
  check_nearest<user_e2m13>(doubles_around(facts<user_e2m13>, 3));
}

// Where a float has enough digits for the draw, and where it does not.
TEST(cast_doubles, stochastically) {
  check_stochastic<float8_e4m3fn>(doubles_around(facts<float8_e4m3fn>, 1));
  check_stochastic<bfloat16>(doubles_around(facts<bfloat16>, 7));
  check_stochastic<float16>(doubles_around(facts<float16>, 7));
  check_stochastic<float>(doubles_around(oracle::binary32, 1'000'003));
}

// Rounding to odd on the way changes no result of any format in any mode; these lanes are scalars.
template <class T>
void check_by_way_of_odd(const std::vector<double>& in) {
  for (const double x : in) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const float odd = float_of(lowp::detail::binary64_to_binary32(
        static_cast<std::uint32_t>(bits >> 32), static_cast<std::uint32_t>(bits), lowp::to_odd{},
        lowp::overflow::infinity));
    for_each_mode([&](const auto& m) {
      ASSERT_TRUE(has_bits(
          lowp::convert<T>(odd, m.rounding),
          oracle::encode(facts<T>, oracle::from(x), m.mode, oracle::default_policy(facts<T>)), x,
          odd, m.name));
    });
  }
}
TEST(cast_doubles, may_go_by_way_of_a_float_rounded_to_odd) {
  types_of<every_format>::for_each([](auto type) {
    using T = typename decltype(type)::type;
    check_by_way_of_odd<T>(doubles_around(facts<T>, 29));
  });
}

template <class I>
std::vector<I> integers() {
  std::mt19937_64 random(8);
  std::vector<I> all{0, 1, std::numeric_limits<I>::min(), std::numeric_limits<I>::max()};
  for (int bit = 0; bit < std::numeric_limits<I>::digits; ++bit) {
    for (int low = 0; low <= bit; ++low) {
      const auto x = static_cast<std::uint64_t>(I{1}) << bit;
      for (const std::uint64_t y : {x | x >> low, (x | x >> low) - 1, (x | x >> low) + 1}) {
        all.push_back(static_cast<I>(y));
        all.push_back(static_cast<I>(0 - y));
      }
    }
  }
  for (int i = 0; i < 20'000; ++i)
    all.push_back(static_cast<I>(static_cast<std::int64_t>(random()) >> (i % 64)));
  return all;
}

TEST(cast_integers, of_every_size) {
  check_nearest<bfloat16>(integers<std::int8_t>());
  check_nearest<float16>(integers<std::uint8_t>());
  check_nearest<bfloat16>(integers<std::int16_t>());
  check_nearest<float8_e4m3fn>(integers<std::uint16_t>());
  check_nearest<float16>(integers<std::int32_t>());
  check_nearest<bfloat16>(integers<std::uint32_t>());
  check_nearest<bfloat16>(integers<std::int64_t>());
  check_nearest<float8_e8m0fnu>(integers<std::uint64_t>());
}

TEST(cast_integers, in_other_modes) {
  check<float>(integers<std::int64_t>(), lowp::upward{}, oracle::mode::upward, "upward");
  check<float>(integers<std::int32_t>(), lowp::downward{}, oracle::mode::downward, "downward");
  check<bfloat16>(integers<std::uint64_t>(), lowp::to_odd{}, oracle::mode::to_odd, "to_odd");
  check_stochastic<bfloat16>(integers<std::int32_t>());
  check_stochastic<float16>(integers<std::int16_t>());
}

template <class From>
void check_widening(const std::vector<From>& in) {
  std::vector<double> out(in.size());
  lowp::cast(in, out);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const auto bits = std::bit_cast<std::uint64_t>(out[i]);
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

// One batch and a bit, from every start: a part of a pack, then nothing beyond it.
TEST(cast_numbers, of_every_length_from_every_start) {
  const std::vector<double> in = random_doubles(600);
  std::vector<bfloat16> whole(in.size());
  const lowp::stochastic mode{.seed = 1};
  for (std::size_t size = 0; size < 300; ++size) {
    const std::size_t first = size % 9;
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
  const std::span narrow(reinterpret_cast<bfloat16*>(storage.data()), storage.size());
  lowp::cast(storage, narrow);
  EXPECT_EQ(narrow[1], -2);
  EXPECT_EQ(narrow[3], 32768);
  std::vector<double> wide{1, 2, 3};
  lowp::cast(wide, wide);
  EXPECT_EQ(wide, (std::vector<double>{1, 2, 3}));
  const std::span start(reinterpret_cast<float*>(wide.data()), wide.size());
  EXPECT_THROW(lowp::cast(wide, start), std::invalid_argument);
  std::vector<float> shorter(2);
  EXPECT_THROW(lowp::cast(wide, shorter), std::invalid_argument);
}

}  // namespace
