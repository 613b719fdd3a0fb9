// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <lowp/fmt.hpp>

#include <charconv>
#include <cstdint>
#include <string>

#include "support/support.hpp"

namespace {

using namespace lowp_test;

TEST(format, plain_is_the_shortest_text) {
  EXPECT_EQ(fmt::format("{}", lowp::bfloat16(0.1)), "0.1");
  EXPECT_EQ(fmt::format("{}", lowp::float8_e4m3fn(-12)), "-12");
  EXPECT_EQ(fmt::format("[{:>8}] [{:<8}] [{:^9}] {:+}", lowp::bfloat16(0.1), lowp::bfloat16(2.5),
                        lowp::float16(1), lowp::float16(3)),
            "[     0.1] [2.5     ] [    1    ] +3");
  EXPECT_EQ(fmt::format("[{:e<5}] [{:.>5}]", lowp::bfloat16(0.1), lowp::bfloat16(0.1)),
            "[0.1ee] [..0.1]");
  EXPECT_EQ(fmt::format("{} {}", std::numeric_limits<lowp::bfloat16>::infinity(),
                        std::numeric_limits<lowp::bfloat16>::quiet_NaN()),
            "inf nan");
}

TEST(format, precision_and_type_show_the_exact_value) {
  EXPECT_EQ(fmt::format("{:.9g}", lowp::bfloat16(0.1)), "0.100097656");
  EXPECT_EQ(fmt::format("{:.3f}", lowp::bfloat16(0.1)), "0.100");
  EXPECT_EQ(fmt::format("{:e}", lowp::bfloat16(0.1)), "1.000977e-01");
  EXPECT_EQ(fmt::format("{:{}.{}f}", lowp::bfloat16(0.1), 8, 4), "  0.1001");
}

TEST(format, x_is_the_code) {
  EXPECT_EQ(fmt::format("{:x} {:x} {:x} {:x}", lowp::bfloat16(1), lowp::float8_e4m3fn(-1),
                        lowp::float6_e2m3fn(1), lowp::float4_e2m1fn(-6)),
            "3f80 b8 08 f");
  EXPECT_EQ(fmt::format("[{:>6x}] [{:*<6x}]", lowp::bfloat16(1), lowp::bfloat16(1)),
            "[  3f80] [3f80**]");
  EXPECT_EQ(fmt::format("{:.>6x} {:s<6x}", lowp::bfloat16(1), lowp::bfloat16(1)), "..3f80 3f80ss");
}

TEST(format, b_is_sign_exponent_and_significand) {
  EXPECT_EQ(fmt::format("{:b}", lowp::bfloat16(-1.5)), "1|01111111|1000000");
  EXPECT_EQ(fmt::format("{:b}", lowp::float8_e5m2(1)), "0|01111|00");
  EXPECT_EQ(fmt::format("{:b}", lowp::float8_e8m0fnu(1)), "01111111");
  EXPECT_EQ(fmt::format("{:>12b}", lowp::float4_e2m1fn(6)), "      0|11|1");
}

template <class T>
class format : public testing::Test {};
TYPED_TEST_SUITE(format, all_formats, by_format);

TYPED_TEST(format, of_every_value_reads_back) {
  for (std::uint32_t code = 0; code < code_count<TypeParam>; ++code) {
    auto const x = of_code<TypeParam>(code);
    if (isnan(x)) continue;
    std::string const text = fmt::format("{}", x);
    TypeParam back(0);
    from_chars(text.data(), text.data() + text.size(), back);
    EXPECT_EQ(back.bits(), x.bits()) << text;
  }
}

TEST(format, refuses_what_it_cannot_do) {
  EXPECT_THROW(static_cast<void>(fmt::format(fmt::runtime("{:{}x}"), lowp::bfloat16(1), 6)),
               fmt::format_error);
  for (char const* text : {"{:q}", "{:.2x}", "{:8.2b}", "{:.<8.2x}", "{:?x}", "{:sx}"})
    EXPECT_THROW(static_cast<void>(fmt::format(fmt::runtime(text), lowp::bfloat16(1))),
                 fmt::format_error)
        << text;
}

}  // namespace
