// SPDX-License-Identifier: Apache-2.0
#include "support/control_register.hpp"

#include <gtest/gtest.h>
#include <lowp/nlohmann_json.hpp>
#include <lowp/value.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace {

using lowp::bfloat16;
using lowp::float16;
using nlohmann::json;

template <class T>
void finite_codes_survive_text() {
  for (std::uint32_t code = 0; code <= T::descriptor.code_mask(); ++code) {
    T const x = T::from_bits(static_cast<typename T::storage>(code));
    if (isfinite(x))
      ASSERT_EQ(json::parse(json(x).dump()).template get<T>().bits(), code);
    else
      ASSERT_THROW(json{x}, std::invalid_argument);
  }
}
TEST(nlohmann_json, finite_codes_survive_text) {
  finite_codes_survive_text<bfloat16>();
  finite_codes_survive_text<float16>();
  finite_codes_survive_text<lowp::float8_e4m3fn>();
  finite_codes_survive_text<lowp::implicit<float16>>();
}

#if defined(LOWP_TEST_CONTROL_REGISTER)
TEST(nlohmann_json, keeps_subnormals_where_the_caller_flushes_them) {
  std::uint16_t volatile code = 3;
  for (lowp_test::control const flush : lowp_test::flushes) {
    lowp_test::write_control(lowp_test::default_control | flush);
    json const written = bfloat16::from_bits(code);
    lowp_test::write_control(lowp_test::default_control);
    EXPECT_EQ(written.get<bfloat16>().bits(), 3);
  }
}
#endif

TEST(nlohmann_json, containers_and_other_readers) {
  std::vector<bfloat16> const values{bfloat16(0.5f), bfloat16(-2), bfloat16(0.1f)};
  json const written = {{"values", values}, {"scale", float16(3)}};
  EXPECT_EQ(written.dump(), R"({"scale":3.0,"values":[0.5,-2.0,0.10009765625]})");
  EXPECT_EQ(written["values"].get<std::vector<bfloat16>>(), values);
  EXPECT_EQ(written["values"].get<std::vector<float>>()[2], 0.10009765625f);
  EXPECT_EQ(json(1).get<float16>(), 1);
  EXPECT_EQ((json{{"a", 7}}.get<std::map<std::string, float16>>().at("a")), 7);
}

TEST(nlohmann_json, reading_rounds_once) {
  EXPECT_EQ(json(1 + 0x1p-8 + 0x1p-40).get<bfloat16>().bits(), 0x3f81);
  // Integers beyond a tie of bfloat16. As doubles they would lie on it.
  std::int64_t const odd = (std::int64_t{1} << 62) + (std::int64_t{1} << 54) + 1;
  EXPECT_EQ(json(odd).get<bfloat16>().bits(), 0x5e81);
  EXPECT_EQ(json(-odd).get<bfloat16>().bits(), 0xde81);
  EXPECT_EQ(json(2 * static_cast<std::uint64_t>(odd) - 1).get<bfloat16>().bits(), 0x5f01);
  EXPECT_TRUE(isinf(json(1e30).get<float16>()));
  EXPECT_EQ(json(1e30).get<lowp::float8_e4m3fn>(), 448);
}

template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (std::invalid_argument const& error) {
    return error.what();
  }
  return "";
}
TEST(nlohmann_json, refuses_by_name) {
  EXPECT_EQ(refusal([] { json{std::numeric_limits<bfloat16>::quiet_NaN()}; }),
            "to_json: JSON has no number for nan");
  EXPECT_EQ(refusal([] { json{-std::numeric_limits<float16>::infinity()}; }),
            "to_json: JSON has no number for -inf");
  EXPECT_EQ(refusal([] { json("1").get<float16>(); }), "from_json: a number is wanted, not string");
  EXPECT_EQ(refusal([] { json().get<float16>(); }), "from_json: a number is wanted, not null");
}

}  // namespace
