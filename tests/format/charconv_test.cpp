// SPDX-License-Identifier: Apache-2.0
// Decimal text: rounded once from what is written, and the shortest that reads back.
#include <gtest/gtest.h>
#include <lowp/format/charconv.hpp>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "support/support.hpp"

namespace {

using namespace lowp_test;

template <class T>
class text : public testing::Test {};
TYPED_TEST_SUITE(text, all_formats, by_format);

template <class T>
T read(std::string_view s) {
  T x = of_code<T>(0);
  auto const end = from_chars(s.data(), s.data() + s.size(), x);
  EXPECT_EQ(end.ec, std::errc{}) << s;
  EXPECT_EQ(end.ptr, s.data() + s.size()) << s;
  return x;
}

template <class T>
std::string written(T x) {
  std::array<char, 64> buffer{};
  auto const end = to_chars(buffer.data(), buffer.data() + buffer.size(), x);
  return {buffer.data(), end.ptr};
}

/// All digits of a double that has few enough of them.
std::string exact(double x) {
  std::array<char, 800> buffer{};
  auto const end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x,
                                 std::chars_format::scientific, 770);
  return {buffer.data(), end.ptr};
}

int significant_digits(std::string_view s) {
  s = s.substr(0, s.find('e'));
  std::string digits;
  for (char const c : s)
    if (c >= '0' && c <= '9' && (c != '0' || !digits.empty())) digits += c;
  while (!digits.empty() && digits.back() == '0') digits.pop_back();
  return static_cast<int>(digits.size());
}

TYPED_TEST(text, of_every_value_reads_back) {
  for (std::uint32_t code = 0; code < code_count<TypeParam>; ++code) {
    auto const x = of_code<TypeParam>(code);
    if (isnan(x)) continue;
    EXPECT_EQ(read<TypeParam>(written(x)).bits(), x.bits()) << written(x);
  }
}

// A text with fewer digits would be one of the two decimals around the value.
TYPED_TEST(text, is_the_shortest) {
  for (std::uint32_t code = 0; code < code_count<TypeParam>; ++code) {
    auto const x = of_code<TypeParam>(code);
    int const digits = significant_digits(written(x));
    // Saturation reads a long way down to the largest value; that does not make a text for it.
    bool const is_largest = lowp::detail::magnitude(x) == TypeParam::descriptor.max_code();
    if (!isfinite(x) || digits == 0 || is_largest) continue;
    double const value = value_of(facts<TypeParam>, code);
    auto const nearest = [&](int of_digits) {
      std::array<char, 64> buffer{};
      auto const end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                     std::chars_format::scientific, of_digits - 1);
      return std::string(buffer.data(), end.ptr);
    };
    if (digits > 1) {
      EXPECT_NE(read<TypeParam>(nearest(digits - 1)).bits(), x.bits()) << written(x);
    }
    // Among texts of one length it is the nearest, ties to even: 0.2 for 2^-2 of float8_e8m0fnu.
    if (read<TypeParam>(nearest(digits)).bits() == x.bits()) {
      EXPECT_EQ(std::stod(written(x)), std::stod(nearest(digits))) << written(x);
    }
  }
}

// Half way between two codes, and a hair's breadth to either side: no double can tell these apart.
TYPED_TEST(text, is_rounded_once) {
  constexpr oracle::facts f = facts<TypeParam>;
  for (std::uint32_t code = 0; code + 1 < f.max_code(); ++code) {
    double const below = value_of(f, code), above = value_of(f, code + 1);
    std::string tie = exact((below + above) / 2);
    std::size_t const e = tie.find('e');
    std::uint32_t const even = code % 2 == 0 ? code : code + 1;
    EXPECT_EQ(read<TypeParam>(tie).bits(), even) << tie;
    EXPECT_EQ(read<TypeParam>(tie.substr(0, e) + "1" + tie.substr(e)).bits(), code + 1) << tie;
    std::size_t last = e - 1;  // the last digit that is not zero, one less, and nines after it
    for (; tie[last] == '0' || tie[last] == '.'; --last)
      if (tie[last] == '0') tie[last] = '9';
    --tie[last];
    EXPECT_EQ(read<TypeParam>(tie).bits(), code) << tie;
  }
}

TEST(from_chars, takes_what_no_double_holds) {
  EXPECT_EQ(read<lowp::bfloat16>("1e999").bits(), 0x7f80);
  EXPECT_EQ(read<lowp::bfloat16>("-1e999999999999999999").bits(), 0xff80);
  EXPECT_EQ(read<lowp::float8_e4m3fn>("-1e999").bits(), 0xfe) << "the default policy saturates";
  EXPECT_EQ(read<lowp::bfloat16>("1e-999").bits(), 0);
  EXPECT_EQ(read<lowp::bfloat16>("-1e-999999999999999999").bits(), 0x8000);
  EXPECT_EQ(read<lowp::bfloat16>("0." + std::string(400, '0') + "1e401").bits(), 0x3f80);
  EXPECT_EQ(read<lowp::float8_e5m2>("inf").bits(), 0x7c);
  EXPECT_EQ(read<lowp::float8_e5m2>("nan").bits(), 0x7e);
  EXPECT_EQ(read<lowp::bfloat16>("-nan(1)").bits(), 0xffc0);
}

// The last bit of 96 and of 128 decides: 2^95 + 2^87 + 1 and 2^127 + 2^119 + 1.
TEST(from_chars, sees_the_last_bit_of_a_long_integer) {
  EXPECT_EQ(read<lowp::bfloat16>("39768823762042841331134365697").bits(), 0x6f01);
  EXPECT_EQ(read<lowp::bfloat16>("39768823762042841331134365696").bits(), 0x6f00);
  EXPECT_EQ(read<lowp::bfloat16>("170805797458361689668139207246024278017").bits(), 0x7f01);
  EXPECT_EQ(read<lowp::bfloat16>("170805797458361689668139207246024278016").bits(), 0x7f00);
}

// Exponents at and beyond the ends of 64 bits, and digits that move the point back into the range.
TEST(from_chars, counts_without_overflow) {
  using lowp::bfloat16;
  constexpr std::string_view largest = "9223372036854775807", beyond = "99999999999999999999";
  for (std::string_view const exponent : {largest, std::string_view("9223372036854775808"), beyond})
    for (std::string const digits : {"1", "0.01", "10", "-1", "-0.01"}) {
      std::uint32_t const sign = digits[0] == '-' ? 0x8000 : 0;
      std::string const e(exponent);
      EXPECT_EQ(read<bfloat16>(digits + "e" + e).bits(), sign | 0x7f80) << digits << e;
      EXPECT_EQ(read<bfloat16>(digits + "e+" + e).bits(), sign | 0x7f80) << digits << e;
      EXPECT_EQ(read<bfloat16>(digits + "e-" + e).bits(), sign) << digits << e;
      EXPECT_EQ(read<lowp::float8_e4m3fn>(digits + "e" + e).bits(), sign >> 8 | 0x7e);
    }
  std::string const zeros(2'000'000, '0');
  EXPECT_EQ(read<bfloat16>("0." + zeros + "1e" + std::string(beyond)).bits(), 0x7f80);
  EXPECT_EQ(read<bfloat16>("0." + zeros + "1e2000001").bits(), 0x3f80);
  EXPECT_EQ(read<bfloat16>("1" + zeros + "e-2000000").bits(), 0x3f80);
  EXPECT_EQ(read<bfloat16>("1" + zeros + "e-" + std::string(beyond)).bits(), 0);
  EXPECT_EQ(read<bfloat16>("0e" + std::string(beyond)).bits(), 0);
  // A4b: what is positive is not zero, however small.
  EXPECT_EQ(read<lowp::float8_e8m0fnu>("1e-999").bits(), 0);
  EXPECT_EQ(read<lowp::float8_e8m0fnu>("0e-999").bits(), 0xff);
}

// The standard library says which number it is, and how long.
TEST(from_chars, takes_what_the_standard_library_takes) {
  for (std::string_view const s :
       {"INFINITY", "infin", "NaN(a_1)", "nan(", "nan(-)", "-nan", "1e",
        "1e+",      "1e+x",  "1.e5",     "1..5", ".5",     "5.",   "-.5e-1x",
        "1E5",      "0x10",  "00012",    "-0",   "1_0",    "-inf", "0.1e-1.5"}) {
    double expected = 0;
    auto const wanted = std::from_chars(s.data(), s.data() + s.size(), expected);
    lowp::float16 x(0);
    auto const end = from_chars(s.data(), s.data() + s.size(), x);
    EXPECT_EQ(end.ptr, wanted.ptr) << s;
    EXPECT_EQ(end.ec, wanted.ec) << s;
    EXPECT_EQ(x.bits(), lowp::float16(expected).bits()) << s;
  }
}

// A float and a double are a checkpoint's; their digits are the standard library's to the last one.
TEST(decimals, reach_float_and_double_in_one_rounding) {
  std::mt19937_64 random(31);
  auto const check = [](std::string const& s) {
    double expected = 0;
    float expected_float = 0;
    std::from_chars(s.data(), s.data() + s.size(), expected);
    std::from_chars(s.data(), s.data() + s.size(), expected_float);
    auto const u = lowp::detail::scanner(s.data(), s.data() + s.size()).number().first;
    EXPECT_EQ(std::bit_cast<std::uint64_t>(lowp::detail::nearest<double>(u)),
              std::bit_cast<std::uint64_t>(expected))
        << s;
    auto const magnitude = std::bit_cast<std::uint32_t>(expected_float);
    if (magnitude << 1 != 0 && std::isfinite(expected_float)) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(lowp::detail::nearest<float>(u)), magnitude) << s;
    }
  };
  for (int i = 0; i < 3000; ++i) {
    std::uint64_t bits = random();
    if (i % 4 == 1) bits &= 0x800fffffffffffff;                               // subnormal
    if (i % 4 == 2) bits = (bits & 0x8fffffffe0000000) | 0x3000000000000000;  // a float
    if (i % 4 == 3) bits = (bits & ~0x1fffffffULL) | 0x10000000;  // half way between two
    auto const x = std::bit_cast<double>(bits);
    if (!std::isfinite(x)) continue;
    std::array<char, 800> text{};
    for (int const digits : {0, 5, 16, 17, 60, 770}) {
      auto const end = std::to_chars(text.data(), text.data() + text.size(), x,
                                     std::chars_format::scientific, digits);
      check({text.data(), end.ptr});
    }
  }
  for (std::string_view const s : {"1e309", "1e400", "1e401", "1e99999"}) {
    auto const u = lowp::detail::scanner(s.data(), s.data() + s.size()).number().first;
    EXPECT_EQ(lowp::detail::nearest<double>(u), HUGE_VAL) << s;
    EXPECT_EQ(lowp::detail::nearest<float>(u), HUGE_VALF) << s;
  }
  check("2.4703282292062327208299439634110764e-324");
  check("1.7976931348623158079372897140530341507993413271003782693617377898044e308");
}

TEST(from_chars, leaves_the_value_alone_where_there_is_no_number) {
  for (std::string_view const s : {"", "x", "-", ".", "e5", "+1"}) {
    lowp::bfloat16 x(7);
    auto const end = from_chars(s.data(), s.data() + s.size(), x);
    EXPECT_EQ(end.ec, std::errc::invalid_argument) << s;
    EXPECT_EQ(end.ptr, s.data()) << s;
    EXPECT_EQ(x, 7) << s;
  }
  lowp::bfloat16 x(7);
  std::string_view const s = "2.5kg";
  EXPECT_EQ(from_chars(s.data(), s.data() + s.size(), x).ptr, s.data() + 3);
  EXPECT_EQ(x, 2.5f);
}

// Fixed or scientific, with the point at the place that std::to_chars chooses.
TYPED_TEST(text, is_laid_out_as_a_double_is) {
  for (std::uint32_t code = 0; code < code_count<TypeParam>; ++code) {
    auto const x = of_code<TypeParam>(code);
    std::array<char, 64> buffer{};
    auto const end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), lowp::shortest(x));
    EXPECT_EQ(written(x), std::string(buffer.data(), end.ptr)) << code;
  }
}

TEST(to_chars, says_when_there_is_no_room) {
  std::array<char, 3> buffer{};
  EXPECT_EQ(to_chars(buffer.data(), buffer.data() + 3, lowp::bfloat16(0.125)).ec,
            std::errc::value_too_large);
  EXPECT_EQ(written(lowp::bfloat16(0.1)), "0.1");
  EXPECT_EQ(written(lowp::float16(0.1)), "0.1");
  EXPECT_EQ(written(lowp::bfloat16(-283)), "-284");
  EXPECT_EQ(lowp::shortest(lowp::bfloat16(0.3f)), 0.3);
}

}  // namespace
