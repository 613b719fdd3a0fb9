// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <lowp/io.hpp>

#include <iomanip>
#include <sstream>
#include <string>

namespace {

using lowp::bfloat16, lowp::float16;

TEST(streams, write_as_a_float_does) {
  std::ostringstream out;
  out << bfloat16(0.1) << ' ' << std::setprecision(9) << bfloat16(0.1) << ' ' << std::fixed
      << std::setprecision(2) << std::setw(7) << float16(1.5);
  EXPECT_EQ(out.str(), "0.100098 0.100097656    1.50");
}

TEST(streams, read_with_one_rounding) {
  std::istringstream in(" 0.1 -3e2,1.00390625000000000000000000001 +4");
  bfloat16 a(0), b(0), c(0), d(0);
  char comma = 0;
  in >> a >> b >> comma >> c >> d;
  EXPECT_EQ(a, bfloat16(0.1));
  EXPECT_EQ(b, -300);
  EXPECT_EQ(comma, ',');
  EXPECT_EQ(c.bits(), 0x3f81) << "above half way, by less than a double can say";
  EXPECT_EQ(d, 4);
  EXPECT_TRUE(in.eof());
  EXPECT_FALSE(in.fail());
  std::istringstream far("1e9223372036854775807 0.01e-9223372036854775808");
  far >> a >> b;
  EXPECT_EQ(a.bits(), 0x7f80);
  EXPECT_EQ(b.bits(), 0);
}

#if defined(__cpp_lib_format)
TEST(std_format, is_the_shortest_text_or_the_exact_value) {
  EXPECT_EQ(std::format("{} {} {}", bfloat16(0.1), float16(-12), bfloat16::from_bits(1)),
            "0.1 -12 9e-41");
  EXPECT_EQ(std::format("[{:>8}] [{:e<5}] [{:+}]", bfloat16(0.1), float16(1), float16(3)),
            "[     0.1] [1eeee] [+3]");
  EXPECT_EQ(std::format("{:.3f} {:.9g} {:e} {:{}.{}f}", bfloat16(0.1), bfloat16(0.1), bfloat16(0.1),
                        bfloat16(0.1), 8, 4),
            "0.100 0.100097656 1.000977e-01   0.1001");
}
#endif

TEST(streams, fail_where_there_is_no_number) {
  for (std::string const text : {"", "x", "-", "+", "1e5e5", "--1", "+-5", "-+5", "++5", "1e5f"}) {
    std::istringstream in(text);
    bfloat16 x(7);
    in >> x;
    EXPECT_TRUE(in.fail()) << text;
    EXPECT_EQ(x, 7) << text;
  }
  // A stream that failed before gives nothing away.
  std::istringstream in("5");
  in.setstate(std::ios_base::failbit);
  bfloat16 x(7);
  in >> x;
  EXPECT_EQ(x, 7);
  in.clear();
  in >> x;
  EXPECT_EQ(x, 5);
}

TEST(streams, that_throw_at_their_end_have_read_the_number) {
  std::istringstream in("1.5");
  in.exceptions(std::ios_base::eofbit);
  bfloat16 x(7);
  EXPECT_THROW(in >> x, std::ios_base::failure);
  EXPECT_EQ(x, 1.5);
  EXPECT_FALSE(in.fail());
}

}  // namespace
